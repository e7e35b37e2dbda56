// The state of a socket, for both kinds of reactor. Owned by the reactor's SlotMap.
#pragma once

#include <algorithm>
#include <memory>

#include "base/block.h"
#include "reactor/descriptor.h"
#include "reactor/linger.h"
#include "reactor/pump.h"
#include "reactor/reactor.h"
#include "reactor/sockets.h"

namespace ebb::reactor {

enum class Phase : std::uint8_t {
  open,
  failed,    // reported; waits for close()
  flushing,  // closed by the handler, has unsent output
  draining,  // the same, and its peer was still sending: closing now would turn into a reset
  closing,   // the kernel still works on it; gone with its last completion
};

enum class Output : std::uint8_t { open, finishing, finished };

struct SocketState {
  SocketId id;
  Descriptor descriptor;
  Owner owner;
  std::uint32_t opened_seconds = 0;  // on the monotonic clock
  std::uint32_t inode = 0;           // as list() first found it; sockets have 32 bits of it (get_next_ino())
  Origin origin = Origin::accepted;
  Phase phase = Phase::open;
  Output output = Output::open;
  Receive mode = Receive::paused;
  bool owes_drained = false;
  bool end_told = false;                   // by on_end_in_sight()
  base::Error failure{base::Cause::none};  // of a send, until it is reported
  base::Chain output_bytes;
  base::Instant output_moved{};              // see base::Backlog
  std::unique_ptr<Linger> linger;            // once its handler has closed it
  std::unique_ptr<base::Chain> undelivered;  // received together with bytes that made the handler pause
  std::unique_ptr<Pump> pump;                // this socket is its source
  SocketId pump_sink;
  SocketId pump_source;

  int fd() const { return descriptor.get(); }
  bool closed_by_handler() const { return phase > Phase::failed; }
  bool has_failure() const { return failure.cause != base::Cause::none; }
  bool usable() const { return phase == Phase::open && !has_failure(); }
  // Behind finish() nothing goes out: TLS may still want to (an alert about what the peer sends to the end).
  bool takes_output() const { return usable() && output == Output::open; }

  // An end that the handler would not hear of otherwise: it does not read now.
  bool owes_end(bool end_seen) const {
    const bool unread = mode == Receive::paused || pump != nullptr;
    return end_seen && unread && !end_told && origin == Origin::accepted && phase == Phase::open;
  }

  void hold(base::Slice bytes) {
    if (undelivered == nullptr) undelivered = std::make_unique<base::Chain>();
    undelivered->join(std::move(bytes));
  }
  base::Slice take_held() {
    base::Slice slice = undelivered->pop_front();
    if (undelivered->empty()) undelivered.reset();
    return slice;
  }
  void list(Holdings& out);
  // A pump begins with the bytes that its source had received before the pause.
  void pump_held_into(SocketState& sink, base::Instant now) {
    const std::uint64_t count = std::min<std::uint64_t>(undelivered->bytes(), pump->to_read);
    pump->to_read -= count;
    pump->moved += count;
    sink.output_bytes.push(undelivered->split_front(count));
    sink.output_moved = now;
    if (undelivered->empty()) undelivered.reset();
  }
};

template <class Socket>
std::uint32_t list_some(base::SlotMap<Socket>& sockets, std::uint32_t from, Holdings& out) {
  return sockets.for_some(from, holdings_at_once, [&out](base::Handle, Socket& socket) { socket.list(out); });
}

}  // namespace ebb::reactor
