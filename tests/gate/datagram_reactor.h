// A reactor without a kernel that knows datagrams only: what is sent is written down, what is received is what a test
// says, time is the test's. Streams are not in it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reactor/reactor.h"

namespace ebb::gate {

class DatagramReactor final : public reactor::Reactor {
 public:
  struct Socket {
    base::Owner owner;
    base::Address local;  // of a bound one
    base::Address peer;   // of a connected one
    std::vector<std::string> sent;
    bool refused = false;  // the next send hears of it
  };
  struct Answer {
    base::Address to, from;
    std::string bytes;
    friend bool operator==(const Answer&, const Answer&) = default;
  };

  base::SlotMap<Socket> sockets;
  std::vector<Answer> answers;
  base::FakeClock time;

  // The connected sockets to that address that are open.
  std::vector<reactor::DatagramSocketId> to(const base::Address& peer) const {
    std::vector<reactor::DatagramSocketId> found;
    sockets.for_each([&](base::Handle handle, const Socket& socket) {
      if (socket.peer == peer) found.emplace_back(handle);
    });
    return found;
  }
  void pass(base::Duration by, reactor::Handler& handler) {
    time.advance(by);
    timers_.advance(time.now(), [&handler](base::Owner owner) { handler.on_timer(owner); });
    handler.on_round_end();
  }

  base::Result<reactor::DatagramSocketId> bind_datagrams(const base::Address& address, base::Owner owner) override {
    return reactor::DatagramSocketId(sockets.emplace(Socket{.owner = owner, .local = address}));
  }
  base::Result<reactor::DatagramSocketId> connect_datagrams(const base::Address& peer, base::Owner owner) override {
    return reactor::DatagramSocketId(sockets.emplace(Socket{.owner = owner, .peer = peer}));
  }
  reactor::DatagramSent send_datagram(reactor::DatagramSocketId id, std::string_view bytes) override {
    Socket& socket = *sockets.find(id);
    if (std::exchange(socket.refused, false)) return reactor::DatagramSent::unreachable;
    socket.sent.emplace_back(bytes);
    return reactor::DatagramSent::sent;
  }
  reactor::DatagramSent answer_datagram(reactor::DatagramSocketId, std::string_view bytes, const base::Address& to,
                                        const base::Address& from) override {
    answers.push_back({to, from, std::string(bytes)});
    return reactor::DatagramSent::sent;
  }
  base::Address datagram_address(reactor::DatagramSocketId id) const override { return sockets.find(id)->local; }
  void close_datagrams(reactor::DatagramSocketId id) override { sockets.erase(id); }

  bool read_holdings(reactor::HoldingsCursor&, reactor::Holdings& out) override {
    sockets.for_each([&out](base::Handle id, const Socket& socket) {
      out.push_back({.kind = socket.peer.valid() ? reactor::Holding::Kind::flow : reactor::Holding::Kind::datagrams,
                     .socket = id,
                     .owner = socket.owner});
    });
    return false;
  }
  bool holds(reactor::SocketId, base::Owner) const override { return false; }
  bool holds(reactor::DatagramSocketId id, base::Owner owner) const override {
    const Socket* socket = sockets.find(id);
    return socket != nullptr && socket->owner == owner;
  }

  const char* name() const override { return "datagrams"; }
  void run(reactor::Handler&) override {}
  void stop() override {}
  void post(std::move_only_function<void()> task) override { task(); }
  const base::Clock& clock() const override { return time; }
  base::Instant now() const override { return time.now(); }
  base::TimerWheel& timers() override { return timers_; }
  base::BlockPool& blocks() override { return blocks_; }
  reactor::Counters& counters() override { return counters_; }

  base::Result<reactor::ListenerId> prepare_listener(const base::Address&, base::Owner) override {
    return no_streams();
  }
  void start_listener(reactor::ListenerId) override {}
  base::Address local_address(reactor::ListenerId) const override { return {}; }
  base::Address local_address(reactor::SocketId) const override { return {}; }
  void close_listener(reactor::ListenerId) override {}
  base::Result<reactor::SocketId> connect(const base::Address&, base::Owner) override { return no_streams(); }
  void adopt(reactor::SocketId, base::Owner) override {}
  void receive(reactor::SocketId, reactor::Receive) override {}
  void send(reactor::SocketId, base::Chain&&) override {}
  std::size_t unsent(reactor::SocketId) const override { return 0; }
  std::size_t held(reactor::SocketId) const override { return 0; }
  base::Backlog backlog(reactor::SocketId) const override { return {}; }
  void finish(reactor::SocketId) override {}
  void close(reactor::SocketId, reactor::CloseMode) override {}
  void pump(reactor::SocketId, reactor::SocketId, std::uint64_t) override {}
  bool peer_gone(reactor::SocketId) override { return true; }
  std::optional<reactor::TcpFacts> tcp_facts(reactor::SocketId) override { return {}; }
  void ask_peer(reactor::SocketId, bool) override {}

 private:
  static std::unexpected<base::Error> no_streams() { return base::fail(base::Cause::internal, "no streams here"); }

  base::TimerWheel timers_{base::Instant{}};
  base::BlockPool blocks_;
  reactor::Counters counters_;
};

}  // namespace ebb::gate
