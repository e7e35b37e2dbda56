// The reactor for every kernel and every container. Each socket is registered once, edge-triggered, for all events: a
// request costs no epoll_ctl. An edge is remembered in the socket until it has been used up, so that pausing and
// resuming cost no system call either.
//
//   epoll.cc          events, listeners, connecting
//   epoll_socket.cc   receiving, sending, closing
//   epoll_pump.cc     splicing
#pragma once

#include <sys/epoll.h>

#include <memory>

#include "base/list.h"
#include "base/slot_map.h"
#include "reactor/listener_state.h"
#include "reactor/loop.h"
#include "reactor/receive_blocks.h"
#include "reactor/socket_state.h"

namespace ebb::reactor {

class EpollReactor final : public Loop {
 public:
  static base::Result<std::unique_ptr<EpollReactor>> make(const SocketLimits& limits);
  explicit EpollReactor(const SocketLimits& limits);
  ~EpollReactor() override;

  const char* name() const override { return "epoll"; }
  base::Result<ListenerId> prepare_listener(const base::Address& address, Owner owner) override;
  void start_listener(ListenerId listener) override;
  // As listen(), for a socket of any family that already listens, without blocking.
  base::Result<ListenerId> listen_at(Descriptor listening, Owner owner);
  base::Address local_address(ListenerId listener) const override;
  base::Address local_address(SocketId socket) const override;
  void close_listener(ListenerId listener) override;
  base::Result<SocketId> connect(const base::Address& address, Owner owner) override;
  void adopt(SocketId socket, Owner owner) override;
  void receive(SocketId socket, Receive mode) override;
  void send(SocketId socket, base::Chain&& bytes) override;
  void send_last(SocketId socket, base::Chain&& bytes) override;
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
  enum class Input : std::uint8_t {
    idle,      // nothing to be had until the next edge
    readable,  // the kernel may have bytes
    ending,    // the same, and an end or error stands behind them
    finished,  // the end has been read
  };
  struct Socket : SocketState, base::ListNode<> {  // linked: in ready_
    Input input = Input::idle;
    bool writable = true;
  };
  using Listener = ListenerState;
  enum EventKind : std::uint8_t { socket_event, listener_event, datagram_event, mailbox_event };

  void wait_and_serve() override;
  bool has_ready() const override { return !ready_.empty() || !closing_listeners_.empty(); }
  void resume_accepting() override;
  void end_linger(SocketId socket) override;
  std::size_t linger_memory(SocketId socket) const override;
  void list_own(Holdings& out) override;
  std::uint32_t list_sockets(std::uint32_t from, Holdings& out) override { return list_some(sockets_, from, out); }

  // epoll.cc
  bool watch(int descriptor, std::uint32_t events, EventKind kind, base::Handle handle);
  void serve_event(const epoll_event& event);
  void serve_ready();
  void serve_socket_event(Socket& socket, std::uint32_t events);
  void serve_connect_event(Socket& socket, std::uint32_t events);
  base::Result<SocketId> add_socket(Descriptor descriptor, Owner owner, Origin origin);
  void accept_some(ListenerId id, int most);
  base::Result<ListenerId> add_listener(Descriptor listening, Owner owner);
  void accept_events(ListenerId id, const Listener& listener, std::uint32_t events);
  void close_listeners();

  // epoll_socket.cc: after a call to the handler a socket may be gone, hence the ids
  Socket* find(SocketId socket);  // nullptr for those that the handler has closed
  void make_ready(Socket& socket);
  void note_edge(Socket& socket, std::uint32_t events);
  void serve_output(SocketId id);
  void serve_input(SocketId id);
  void serve_closed(Socket& socket);
  bool tell_end(SocketId id);
  void receive_once(SocketId id);
  void deliver(SocketId id, base::Slice bytes);
  bool deliver_held(SocketId id);
  void input_ended(Socket& socket, int sys);
  void write_out(Socket& socket);
  void write_corked();
  void output_failed(Socket& socket, int sys);
  void report_failure(Socket& socket, const base::Error& error);
  void bury(SocketId id);

  // epoll_pump.cc
  void serve_pump(SocketId id);
  void report_pump(SocketId id, PumpStop stop, int sys);
  void end_pump(Socket& source);

  static constexpr int events_at_once = 256;

  Descriptor epoll_;
  ReceiveBlocks receive_blocks_;
  base::SlotMap<Listener> listeners_;
  base::SlotMap<Socket> sockets_;
  base::List<Socket> ready_;
  bool corked_ = false;  // several slices are being delivered: what they cause to be sent leaves together
  std::vector<SocketId> corked_sockets_;
  std::vector<ListenerId> closing_listeners_;
  epoll_event events_[events_at_once];
};

}  // namespace ebb::reactor
