// One thread's side of the self-audit (observe/audit.h): what its reactor holds, with whether those who own it know it
// as theirs; and the other way round.
#pragma once

#include "observe/audit.h"
#include "reactor/holdings.h"

namespace ebb::gate {

struct BookCursor {
  std::uint32_t part = 0;
  std::uint32_t slot = 0;
  reactor::HoldingsCursor holdings{};
};

// `kind`: of what its owner has open. `owned`: the owner knows it.
inline observe::Claim claim_of(const reactor::Holding& holding, observe::ClaimKind kind, bool owned) {
  using Kind = reactor::Holding::Kind;
  using Flaw = observe::Claim::Flaw;
  observe::Claim claim{.descriptor = holding.descriptor,
                       .kind = kind,
                       .failure = holding.failure,
                       .inode = holding.inode,
                       .socket = holding.socket,
                       .owner = holding.owner,
                       .opened = holding.opened};
  switch (holding.kind) {
    case Kind::own: claim.kind = observe::ClaimKind::own; break;
    case Kind::lingering: claim.kind = observe::ClaimKind::lingering; break;
    case Kind::closing:
      claim.kind = observe::ClaimKind::lingering;
      claim.flaw = Flaw::unburied;  // unless it is gone at the second look: the kernel takes a round, not a second
      break;
    case Kind::listener:
    case Kind::datagrams:
    case Kind::flow:
    case Kind::open: claim.flaw = owned ? Flaw::none : Flaw::disowned; break;
  }
  return claim;
}

inline observe::Claim claim_without_socket(observe::ClaimKind kind, base::Handle socket, base::Owner owner) {
  return {.kind = kind, .flaw = observe::Claim::Flaw::without_socket, .socket = socket, .owner = owner};
}

}  // namespace ebb::gate
