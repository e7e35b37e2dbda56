// The self-audit without its I/O. It compares the book (what the rooms of the process claim to hold open) with the
// kernel's list. observe/self_audit collects both.
//
// The two lists are never of the same moment, because the workers keep running. A descriptor that opens or closes in
// between differs without being wrong. A difference therefore counts only if a second look finds it again. This is safe
// in both directions. The second book has each descriptor that is open through both looks. It has none that closed
// before the second book was read.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/address.h"
#include "base/cause.h"
#include "base/clock.h"
#include "base/slot_map.h"
#include "base/timer_wheel.h"
#include "observe/open_descriptors.h"

namespace ebb::observe {

// clang-format off
#define EBB_CLAIM_KINDS(X)                                                \
  X(own)        /* of an event loop: its set or ring, mailbox and pipes */ \
  X(listener)   /* of connections or datagrams */                          \
  X(client)                                                                \
  X(tunnel)     /* the client's half */                                    \
  X(backend)                                                               \
  X(probe)                                                                 \
  X(check)                                                                 \
  X(flow)       /* of datagrams, to an endpoint */                         \
  X(canary)     /* of the prober */                                        \
  X(admin)                                                                 \
  X(runtime)                                                               \
  X(lingering)  /* closed by its owner; output is on its way */            \
  X(log)                                                                   \
  X(watch)      /* of the configuration file */                            \
  X(inherited)  /* open before the router was */

#define EBB_DIFFERENCES(X)                                                              \
  X(unclaimed,      "it is open, and nobody holds it")                                  \
  X(closed,         "it is held, and not open")                                         \
  X(replaced,       "it is held, and something else is open in its place")              \
  X(shared,         "it is held twice")                                                 \
  X(disowned,       "the reactor holds it for an owner that does not know it")          \
  X(without_socket, "a connection is known whose socket the reactor does not hold")     \
  X(unburied,       "it was closed, and the kernel has not given it back")
// clang-format on

enum class ClaimKind : std::uint8_t {
#define X(name) name,
  EBB_CLAIM_KINDS(X)
#undef X
};
inline constexpr std::string_view claim_kind_names[] = {
#define X(name) #name,
    EBB_CLAIM_KINDS(X)
#undef X
};
constexpr std::string_view name(ClaimKind kind) { return claim_kind_names[static_cast<std::size_t>(kind)]; }

enum class DifferenceKind : std::uint8_t {
#define X(name, words) name,
  EBB_DIFFERENCES(X)
#undef X
};
struct DifferenceFacts {
  std::string_view name;
  std::string_view words;
};
inline constexpr DifferenceFacts difference_table[] = {
#define X(name, words) {#name, words},
    EBB_DIFFERENCES(X)
#undef X
};
constexpr const DifferenceFacts& facts(DifferenceKind kind) { return difference_table[static_cast<std::size_t>(kind)]; }

// One line of the book.
struct Claim {
  // A fault that the room itself finds, before the audit asks the kernel.
  enum class Flaw : std::uint8_t { none, disowned, without_socket, unburied };
  int descriptor = -1;  // `without_socket` has none
  ClaimKind kind = ClaimKind::own;
  Flaw flaw = Flaw::none;
  base::Cause failure = base::Cause::none;  // of its socket
  std::uint32_t room = 0;
  std::uint64_t inode = 0;  // 0: any
  base::Handle socket{};
  base::Owner owner{};
  base::Instant opened{};
};
using Claims = std::vector<Claim>;
using Book = std::vector<Claim, base::PageAllocator<Claim>>;

struct Difference {
  DifferenceKind kind = DifferenceKind::unclaimed;
  int descriptor = -1;
  std::uint64_t inode = 0;  // the kernel's; 0: none
  Claim claim{};            // not of `unclaimed`

  // Identifies the difference: equal for the same object, unequal for another object of the same kind.
  auto identity() const {
    return std::tuple(descriptor, kind, inode, claim.room, claim.owner.kind, claim.owner.handle.slot,
                      claim.owner.handle.generation, claim.socket.slot, claim.socket.generation);
  }
};

// Sorts `book`; `open` is sorted.
std::vector<Difference> compare(std::span<Claim> book, std::span<const OpenDescriptor> open);
// The differences of the second look that the first look had too.
std::vector<Difference> persisting(std::vector<Difference> first, std::vector<Difference> second);

// What a room knows about a line of the book.
struct SocketHistory {
  std::string whose;   // a listener, or backend/endpoint
  base::Address peer;  // as the room knows it
  std::string_view state;
  base::Duration age{};  // since it was opened
};

struct FoundDifference {
  Difference difference;
  base::WallTime found_at;
  DescriptorFacts kernel;          // at the time of the difference
  std::optional<Claim> last_held;  // of `unclaimed`: in the previous run, if known
  std::string held_by;             // the room's name
  SocketHistory history;
};

struct AuditReport {
  static constexpr std::size_t shown_max = 100;

  base::Duration every{};  // 0: never
  std::uint64_t runs = 0;
  std::uint64_t runs_incomplete = 0;  // a room did not answer in time; the run is void
  base::WallTime last_at{};           // the end of the last complete run
  std::uint64_t open = 0;             // descriptors open at the last look
  std::array<std::uint64_t, std::size(claim_kind_names)> claimed{};
  std::uint64_t differences = 0;
  std::vector<FoundDifference> shown;  // the first ones
};

}  // namespace ebb::observe
