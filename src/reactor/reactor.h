// The only door to the kernel's sockets. One Reactor per worker thread: it owns descriptors, unsent output and
// timers; its Handler owns the meaning. Implementations: epoll.cc, uring.cc and, for tests, sim/.
//
//   Handler calls    listen connect receive send finish close pump      any time, also inside a callback
//   Reactor calls    on_accepted on_connected on_received ...           never from inside one of those calls
//
// The reactor reports a socket that fails or that its peer finishes; the holder of its SocketId closes it.
// After close() no callback names that socket again.
#pragma once

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/address.h"
#include "base/backlog.h"
#include "base/block.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/slot_map.h"
#include "base/timer_wheel.h"
#include "reactor/holdings.h"
#include "reactor/tcp_facts.h"

namespace ebb::reactor {

using SocketId = base::TypedHandle<struct SocketTag>;
using ListenerId = base::TypedHandle<struct ListenerTag>;
using DatagramSocketId = base::TypedHandle<struct DatagramSocketTag>;
using base::Owner;

// Set on every socket, because node sysctls do not reach into containers. Both limits are needed: keepalive does not
// fire while data is unacknowledged (net/ipv4/tcp_timer.c).
struct SocketLimits {
  // It also ends a living peer whose window stays shut that long, so that it is the longest pause a reader may make
  // (docs/decisions/0006-user-timeout.md).
  base::Duration user_timeout = std::chrono::seconds{30};
  base::Duration keepalive_idle = std::chrono::seconds{10};
  base::Duration keepalive_interval = std::chrono::seconds{5};
  int keepalive_probes = 4;
  // How long closed sockets may flush in all, however slowly their peers read. What is left then is about 256 KiB: 1
  // KiB a second is enough.
  base::Duration flush_total = std::chrono::minutes{5};
};

enum class CloseMode : std::uint8_t {
  flush,  // unsent output still goes out (bounded by the user timeout, flush_total and end_flushing()), then FIN
  drop,   // unsent output is dropped, then FIN or what the kernel makes of unread input
  reset,  // RST: the peer must not take what it has for a complete message
};

enum class Receive : std::uint8_t {
  paused,     // bytes stay in the kernel: this is the back-pressure
  watchful,   // few bytes are expected (a head, an idle peer)
  piecewise,  // few or many: one block at a time, so that a body can be left to the kernel after its head
  bulk,       // many bytes are expected (a body)
};

// One datagram as it came. What it shows lives until the callback returns: a datagram is passed on or lost, never kept.
struct Datagram {
  DatagramSocketId socket;
  base::Address peer;
  base::Address local;     // which of our addresses it was sent to: the one that an answer must come from
  std::string_view bytes;  // may be empty: that is a datagram too
};

enum class DatagramSent : std::uint8_t {
  sent,
  dropped,      // the kernel has no room for it, or it is too large for the way: counted
  unreachable,  // an earlier one came back (ECONNREFUSED), so that this one did not leave; the socket stays usable
};

struct Counters {
  std::uint64_t loops = 0;
  std::uint64_t receives = 0;
  std::uint64_t sends = 0;
  std::uint64_t spliced_bytes = 0;
  std::uint64_t accepts_failed = 0;  // descriptors had run out; the connections waited in the queue
  std::uint64_t datagrams_truncated = 0;
  std::uint64_t datagrams_unsent = 0;   // of those given to be sent
  std::uint64_t datagrams_overrun = 0;  // came faster than they were read; the kernel dropped them
  base::Duration lag_max{};             // longest time spent in one round of callbacks since it was last read
};

// A reset that came behind the peer's FIN: tcp_reset() makes EPIPE of it in CLOSE_WAIT, and ECONNRESET anywhere else.
inline bool peer_had_finished(const base::Error& error) { return error.sys == EPIPE; }

class Handler {
 public:
  virtual ~Handler() = default;
  // The handler must call adopt() or close().
  virtual void on_accepted(Owner listener, SocketId socket, const base::Address& peer) = 0;
  // After close_listener(), when the last waiting connection has been reported.
  virtual void on_listener_closed(Owner /*listener*/) {}
  virtual void on_connected(Owner owner) = 0;
  // Never called while paused. The handler keeps the slice as long as it likes; small ones are better copied.
  virtual void on_received(Owner owner, base::Slice bytes) = 0;
  // The peer's FIN, after all its bytes. Reported also while paused only once receiving is on again.
  virtual void on_peer_finished(Owner owner) = 0;
  // Of an accepted socket that is paused or pumped from, once: the FIN has come, behind bytes that nobody reads now.
  virtual void on_end_in_sight(Owner /*owner*/) {}
  // All output given so far has reached the kernel, after unsent() had been above zero when send() returned.
  virtual void on_drained(Owner owner) = 0;
  // `moved` more bytes went through pump(); `done` when the asked amount has passed. Nothing moved and not done: bytes
  // have begun to wait for `to` (see unsent()). Reported for `from`'s owner.
  virtual void on_pumped(Owner owner, std::uint64_t moved, bool done) = 0;
  // The socket is of no more use (connect failed, reset, time-out, send failed). Reported once, also while paused.
  virtual void on_failed(Owner owner, const base::Error& error) = 0;
  virtual void on_datagram(Owner /*owner*/, const Datagram& /*datagram*/) {}
  // Of a connected datagram socket: an earlier datagram came back. The socket stays usable.
  virtual void on_unreachable(Owner /*owner*/, DatagramSocketId /*socket*/, const base::Error& /*error*/) {}
  virtual void on_timer(Owner owner) = 0;
  // All events of this round have been handled: the time to bury the dead.
  virtual void on_round_end() = 0;
};

class Reactor {
 public:
  virtual ~Reactor() = default;

  virtual const char* name() const = 0;
  // Runs until stop(); calls the handler from this thread only.
  virtual void run(Handler& handler) = 0;
  virtual void stop() = 0;                                      // any thread
  virtual void post(std::move_only_function<void()> task) = 0;  // any thread; runs between events, in order

  // Binds with SO_REUSEPORT and starts to accept.
  base::Result<ListenerId> listen(const base::Address& address, Owner owner) {
    base::Result<ListenerId> prepared = prepare_listener(address, owner);
    if (prepared) start_listener(*prepared);
    return prepared;
  }
  // The same in two steps: all that can fail, and the rest. In between, connections wait in the queue.
  virtual base::Result<ListenerId> prepare_listener(const base::Address& address, Owner owner) = 0;
  virtual void start_listener(ListenerId listener) = 0;
  virtual base::Address local_address(ListenerId listener) const = 0;
  // Connections waiting in the accept queue are accepted and reported first, so that none is lost; then
  // on_listener_closed() comes.
  virtual void close_listener(ListenerId listener) = 0;

  virtual base::Result<SocketId> connect(const base::Address& address, Owner owner) = 0;
  virtual void adopt(SocketId socket, Owner owner) = 0;  // who is told from now on
  virtual void receive(SocketId socket, Receive mode) = 0;
  virtual void send(SocketId socket, base::Chain&& bytes) = 0;
  // The same for the last bytes of a connection: the caller calls finish() or close() before it returns to the reactor.
  // The FIN can then leave in the segment of these bytes.
  virtual void send_last(SocketId socket, base::Chain&& bytes) { send(socket, std::move(bytes)); }
  // Output that the kernel has not taken, with what a pump has taken from its source but not yet given to this socket.
  virtual std::size_t unsent(SocketId socket) const = 0;
  virtual base::Backlog backlog(SocketId socket) const = 0;  // the same, and since when
  // Memory that this output, and input that came before a pause, keep from being freed (base::Chain::held).
  virtual std::size_t held(SocketId socket) const = 0;
  virtual void finish(SocketId socket) = 0;  // FIN after the unsent output; receiving goes on
  virtual void close(SocketId socket, CloseMode mode) = 0;
  // Ends sockets that were closed at least `age` ago and still have output, the oldest first, until they have held that
  // much memory. Returns how much it was; the kernel may let go of it a little later.
  virtual std::size_t end_flushing(std::size_t /*bytes*/, base::Duration /*age*/) { return 0; }
  // Moves `bytes` from one socket to the other inside the kernel (splice). `from` must be paused and `to` have no
  // unsent output. Ends early, with what was moved so far, if `from` finishes.
  virtual void pump(SocketId from, SocketId to, std::uint64_t bytes) = 0;
  // True if the peer has finished or failed: a last look before a pooled connection is used again.
  virtual bool peer_gone(SocketId socket) = 0;
  // Also of a socket that has failed, until it is closed; none once it is, or where the kernel does not tell.
  virtual std::optional<TcpFacts> tcp_facts(SocketId socket) = 0;
  // Sends a keepalive probe to a peer that has been quiet for a second, now and every second. The peer's kernel
  // answers, whatever its process does (TcpFacts::probes, silence). `false`: as the limits say again.
  virtual void ask_peer(SocketId socket, bool ask) = 0;
  virtual base::Address local_address(SocketId socket) const = 0;  // which of our addresses the peer reached

  // Binds with SO_REUSEPORT: as long as the group of sockets on the address stays the same, the kernel gives the
  // datagrams of one peer to the same of them.
  virtual base::Result<DatagramSocketId> bind_datagrams(const base::Address& address, Owner owner) = 0;
  // Receives from that peer only, and hears of it when the peer cannot be reached.
  virtual base::Result<DatagramSocketId> connect_datagrams(const base::Address& peer, Owner owner) = 0;
  virtual DatagramSent send_datagram(DatagramSocketId socket, std::string_view bytes) = 0;  // a connected one
  virtual DatagramSent answer_datagram(DatagramSocketId socket, std::string_view bytes, const base::Address& to,
                                       const base::Address& from) = 0;  // a bound one
  virtual base::Address datagram_address(DatagramSocketId socket) const = 0;
  virtual void close_datagrams(DatagramSocketId socket) = 0;

  // For the self-audit: what it holds open, a step of the walk at a time. True: there is more.
  virtual bool read_holdings(HoldingsCursor& cursor, Holdings& out) = 0;
  // It is open and of that owner.
  virtual bool holds(SocketId socket, Owner owner) const = 0;
  virtual bool holds(DatagramSocketId socket, Owner owner) const = 0;

  virtual const base::Clock& clock() const = 0;
  virtual base::Instant now() const = 0;  // of this round: cheap
  virtual base::TimerWheel& timers() = 0;
  virtual base::BlockPool& blocks() = 0;
  virtual Counters& counters() = 0;
};

enum class Kind : std::uint8_t { automatic, uring, epoll };

// `automatic` takes io_uring where the kernel and the seccomp profile allow it, else epoll. An explicit wish that
// cannot be met is an error that says why.
base::Result<std::unique_ptr<Reactor>> make_reactor(Kind kind, const SocketLimits& limits, std::string& why_not);

}  // namespace ebb::reactor
