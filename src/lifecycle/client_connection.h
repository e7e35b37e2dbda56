// The life of a connection that a client opened.
//
//   greeting ───────▶ serving            TCP and TLS that is passed through: straight to a tunnel
//    │  └──────────────┐
//    ▼                 ▼
//   handshaking ──▶ idle ◀──────────── kept ───────────┐
//                    │ ▲                               │
//              bytes │ └─ (no exchange without a head) │
//                    ▼                                 │
//                 reading ── head complete ──▶ serving ┴─▶ tunnelling
//                    │                           │             │
//                 refused                       last           │
//                    ▼                           ▼             ▼
//                 lingering ────────────────────────────────▶ closed
//
// From `idle` (ALPN) or `reading` (prior knowledge) a connection that speaks HTTP/2 becomes `multiplexing`: its streams
// carry exchanges side by side, and it stays so until one side goes away: then it lingers when it has none.
//
// `greeting` is what may come before TLS and HTTP: a header of the PROXY protocol, or a ClientHello that is only looked
// at. `lingering` is RFC 9112 9.6: our side is finished, what the client still sends is read and thrown away, because a
// close with unread bytes makes the kernel send a reset that may destroy the response on its way.
//
// A deadline, the client's end and our own will all close a connection by `ended`. A head that takes too long is
// `refused`.
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_CLIENT_STATES(X) \
  X(greeting) X(handshaking) X(idle) X(reading) X(serving) X(tunnelling) X(multiplexing) X(lingering) X(closed)
#define EBB_CLIENT_EVENTS(X)                                       \
  X(handshake)     /* TLS begins */                                \
  X(plain)         /* HTTP without TLS */                          \
  X(secured)       /* the TLS handshake is done */                 \
  X(bytes)         /* the first bytes of a head */                 \
  X(head_complete) /* an exchange begins */                        \
  X(refused)       /* what came is no request that we serve */     \
  X(kept)          /* the exchange ended, the next one may come */ \
  X(last)          /* the exchange ended, no other may come */     \
  X(upgraded)      /* the exchange became a tunnel */              \
  X(multiplexed)   /* it speaks HTTP/2 */                          \
  X(ended)         /* it closes; the Cause says why */

struct ClientConnectionLife {
  enum class State : std::uint8_t { EBB_CLIENT_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_CLIENT_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_CLIENT_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_CLIENT_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::greeting;
  static constexpr State last = State::closed;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::greeting, E::handshake, S::handshaking},
      {S::greeting, E::plain, S::idle},
      {S::greeting, E::head_complete, S::serving},
      {S::greeting, E::ended, S::closed},

      {S::handshaking, E::secured, S::idle},
      {S::handshaking, E::ended, S::closed},

      {S::idle, E::bytes, S::reading},
      {S::idle, E::multiplexed, S::multiplexing},
      {S::idle, E::ended, S::closed},

      {S::reading, E::head_complete, S::serving},
      {S::reading, E::multiplexed, S::multiplexing},
      {S::reading, E::refused, S::lingering},
      {S::reading, E::ended, S::closed},

      {S::serving, E::kept, S::idle},
      {S::serving, E::last, S::lingering},
      {S::serving, E::upgraded, S::tunnelling},
      {S::serving, E::ended, S::closed},

      {S::tunnelling, E::ended, S::closed},

      {S::multiplexing, E::last, S::lingering},
      {S::multiplexing, E::ended, S::closed},

      {S::lingering, E::ended, S::closed},
  };
};

using ClientConnectionMachine = Machine<ClientConnectionLife>;
static_assert(ClientConnectionMachine::deterministic());
static_assert(ClientConnectionMachine::last_is_terminal());
static_assert(ClientConnectionMachine::all_reach_last());
static_assert(ClientConnectionMachine::every_live_state_has(ClientConnectionLife::Event::ended));

}  // namespace ebb::lifecycle
