// The reactor on io_uring. The kernel does the work and reports completions; a round submits all its operations in a
// single system call. An operation in flight owns its socket's memory. A closed socket therefore stays in its slot,
// invisible, until the kernel has returned the last operation.
//
//   uring.cc              the ring, rounds, completions, listeners
//   uring_operations.cc   what each socket asks of the kernel, settled once before each submission
//   uring_socket.cc       receiving, sending, closing
//   uring_pump.cc         splicing
#pragma once

#include <liburing.h>

#include <memory>
#include <string>
#include <vector>

#include "base/list.h"
#include "base/slot_map.h"
#include "reactor/listener_state.h"
#include "reactor/loop.h"
#include "reactor/receive_blocks.h"
#include "reactor/socket_state.h"
#include "reactor/uring_buffers.h"

namespace ebb::reactor {

class UringReactor final : public Loop {
 public:
  static base::Result<std::unique_ptr<Reactor>> make(const SocketLimits& limits, std::string& why_not);
  explicit UringReactor(const SocketLimits& limits);
  ~UringReactor() override;

  const char* name() const override { return "io_uring"; }
  base::Result<ListenerId> prepare_listener(const base::Address& address, Owner owner) override;
  void start_listener(ListenerId listener) override;
  base::Address local_address(ListenerId listener) const override;
  base::Address local_address(SocketId socket) const override;
  void close_listener(ListenerId listener) override;
  base::Result<SocketId> connect(const base::Address& address, Owner owner) override;
  void adopt(SocketId socket, Owner owner) override;
  void receive(SocketId socket, Receive mode) override;
  void send(SocketId socket, base::Chain&& bytes) override;
  std::size_t unsent(SocketId socket) const override;
  std::size_t held(SocketId socket) const override;
  base::Backlog backlog(SocketId socket) const override;
  void finish(SocketId socket) override;
  void close(SocketId socket, CloseMode mode) override;
  void pump(SocketId from, SocketId to, std::uint64_t bytes) override;
  bool peer_gone(SocketId socket) override;
  std::optional<TcpFacts> tcp_facts(SocketId socket) override;
  void ask_peer(SocketId socket, bool ask) override;
  using Loop::holds;
  bool holds(SocketId socket, Owner owner) const override;

 private:
  enum Operation : std::uint8_t {
    mailbox_operation,
    cancel_operation,
    accept_operation,
    datagram_operation,
    connect_operation,
    receive_operation,
    send_operation,
    watch_operation,   // of a paused socket: errors and, of an accepted one, the peer's end
    source_operation,  // of a pump: readable
    sink_operation,    // of a pump: writable
  };
  enum class Input : std::uint8_t { open, ended, finished };  // ended: the FIN has come, finished: it is reported
  enum class Receiving : std::uint8_t { no, once, repeatedly, cancelling };
  enum class Watching : std::uint8_t { no, yes, over };

  struct Ready {};
  struct Unsettled {};
  struct Message {  // must outlive its send operation
    msghdr header;
    iovec parts[64];
  };
  struct Socket : SocketState, base::ListNode<Ready>, base::ListNode<Unsettled> {
    Input input = Input::open;
    Receiving receiving = Receiving::no;
    Watching watching = Watching::no;
    bool end_seen = false;  // while watched
    bool fed = false;       // is one of fed_
    bool sending = false;
    bool source_polled = false;
    bool sink_polled = false;
    std::uint8_t in_flight = 0;  // operations whose last completion is still to come
    bool cancelled = false;
    std::unique_ptr<base::Address> connect_to;  // until the connect operation is over
    std::unique_ptr<Message> message;           // while a send of several parts is in flight
  };
  struct Listener : ListenerState {
    bool accepting = false;
  };

  void wait_and_serve() override;
  bool has_ready() const override { return !ready_.empty() || !closing_listeners_.empty(); }
  void resume_accepting() override;
  void glance() override;
  void end_linger(SocketId socket) override;
  std::size_t linger_memory(SocketId socket) const override;
  void list_own(Holdings& out) override;
  std::uint32_t list_sockets(std::uint32_t from, Holdings& out) override { return list_some(sockets_, from, out); }

  // uring.cc
  void submit_and_wait(base::Duration at_most);
  void serve_completions();
  void serve_completion(std::uint64_t bits, int result, std::uint32_t flags);
  void serve_socket_completion(Operation operation, Socket& socket, int result, std::uint32_t flags);
  void serve_accept(ListenerId id, int result, std::uint32_t flags);
  void serve_ready();
  SocketId add_socket(Descriptor descriptor, Owner owner, Origin origin);
  void start_accepting(ListenerId id);
  void watch_datagrams();
  void close_listeners();

  // uring_operations.cc
  io_uring_sqe* new_operation(Operation operation, base::Handle handle);
  io_uring_sqe* new_operation(Operation operation, Socket& socket);
  void settle_all();
  void settle(Socket& socket);
  void settle_output(Socket& socket);
  void settle_input(Socket& socket);
  void start_connect(Socket& socket);
  void start_receive(Socket& socket);
  void start_send(Socket& socket);
  void poll_once(Operation operation, Socket& socket, unsigned events);
  void cancel_receive(Socket& socket);
  void cancel_all(Socket& socket);

  // uring_socket.cc: after a call to the handler a socket may be gone, hence the ids
  Socket* find(SocketId socket);  // nullptr for those that the handler has closed
  void make_ready(Socket& socket);
  void unsettle(Socket& socket);
  void connected(Socket& socket, int result);
  void discarded(Socket& socket, int result);
  void receive_directly(SocketId id);
  void input_ended(Socket& socket, int sys);
  void received(Socket& socket, int result, std::uint32_t flags);
  void deliver(Socket& socket, base::Slice bytes);
  void sent(Socket& socket, int result);
  void watched(Socket& socket);
  bool tell_end(SocketId id);
  void serve_input(SocketId id);
  bool deliver_held(SocketId id);
  void report_end(Socket& socket);
  void report_failure(Socket& socket, const base::Error& error);
  void begin_closing(Socket& socket);

  // uring_pump.cc
  void serve_pump(SocketId id);
  void report_pump(SocketId id, PumpStop stop, int sys);
  void end_pump(Socket& source);

  io_uring ring_ = {};
  bool ring_made_ = false;
  bool ring_enabled_ = false;
  std::size_t in_flight_ = 0;  // of all sockets
  UringBuffers buffers_;
  ReceiveBlocks receive_blocks_;
  base::SlotMap<Listener> listeners_;
  base::SlotMap<Socket> sockets_;
  base::List<Socket, Ready> ready_;
  base::List<Socket, Unsettled> unsettled_;
  std::vector<SocketId> fed_;  // have received bytes since the last glance, and receive on
  std::vector<ListenerId> closing_listeners_;
  std::vector<std::unique_ptr<Message>> messages_;  // free ones
};

}  // namespace ebb::reactor
