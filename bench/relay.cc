// The floor of the benchmarks: a TCP relay on the reactor that does nothing but pass bytes on. What a proxy costs
// above this is its own doing.
//
//   relay --io epoll|uring --listen 127.0.0.1:9000 --to 127.0.0.1:8000 [--splice]
#include <cstdio>
#include <cstring>
#include <string>

#include "base/slot_map.h"
#include "reactor/reactor.h"

namespace {

using namespace ebb;
using base::Handle;
using base::Owner;
using reactor::CloseMode;
using reactor::Receive;
using reactor::SocketId;

constexpr std::size_t unsent_most = std::size_t{256} << 10;  // beyond it the other side is paused

struct Options {
  reactor::Kind io = reactor::Kind::automatic;
  base::Address listen;
  base::Address to;
  bool splice = false;
};

// Two sockets that pass on what they receive. The owner's kind says which of them is meant.
class Relay final : public reactor::Handler {
 public:
  Relay(reactor::Reactor& reactor, const Options& options) : reactor_(reactor), options_(options) {}

  void on_accepted(Owner, SocketId socket, const base::Address&) override {
    const Handle handle = pairs_.emplace();
    Pair& pair = *pairs_.find(handle);
    pair.sockets[client] = socket;
    reactor_.adopt(socket, {client, handle});
    const auto made = reactor_.connect(options_.to, {backend, handle});
    if (!made) return close(handle, CloseMode::reset);
    pair.sockets[backend] = *made;
  }
  void on_connected(Owner owner) override {
    const Pair& pair = *pairs_.find(owner.handle);
    if (!options_.splice) {
      for (const SocketId socket : pair.sockets) reactor_.receive(socket, Receive::watchful);
      return;
    }
    reactor_.pump(pair.sockets[client], pair.sockets[backend], UINT64_MAX);
    reactor_.pump(pair.sockets[backend], pair.sockets[client], UINT64_MAX);
  }
  void on_received(Owner owner, base::Slice bytes) override {
    const Pair& pair = *pairs_.find(owner.handle);
    const SocketId to = pair.sockets[1 - owner.kind];
    base::Chain chain;
    chain.push(std::move(bytes));
    reactor_.send(to, std::move(chain));
    if (reactor_.unsent(to) > unsent_most) reactor_.receive(pair.sockets[owner.kind], Receive::paused);
  }
  void on_drained(Owner owner) override {
    const Pair& pair = *pairs_.find(owner.handle);
    reactor_.receive(pair.sockets[1 - owner.kind], Receive::watchful);
  }
  void on_peer_finished(Owner owner) override {
    Pair& pair = *pairs_.find(owner.handle);
    pair.finished += 1;
    if (pair.finished == 2) return close(owner.handle, CloseMode::flush);
    reactor_.finish(pair.sockets[1 - owner.kind]);
  }
  void on_pumped(Owner, std::uint64_t, bool) override {}
  void on_failed(Owner owner, const base::Error&) override { close(owner.handle, CloseMode::reset); }
  void on_timer(Owner) override {}
  void on_round_end() override {}

 private:
  enum Side : std::uint32_t { client, backend };
  struct Pair {
    SocketId sockets[2];
    int finished = 0;
  };

  void close(Handle handle, CloseMode mode) {
    for (const SocketId socket : pairs_.find(handle)->sockets) reactor_.close(socket, mode);
    pairs_.erase(handle);
  }

  reactor::Reactor& reactor_;
  const Options& options_;
  base::SlotMap<Pair> pairs_;
};

bool parse(int count, char** words, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--splice") {
      options.splice = true;
      continue;
    }
    if (i + 1 == count) return false;
    const std::string_view value = words[++i];
    if (word == "--io") {
      if (value != "epoll" && value != "uring") return false;
      options.io = value == "epoll" ? reactor::Kind::epoll : reactor::Kind::uring;
    } else if (word == "--listen" || word == "--to") {
      const auto address = base::Address::parse(value);
      if (!address) return false;
      (word == "--to" ? options.to : options.listen) = *address;
    } else {
      return false;
    }
  }
  return options.listen.valid() && options.to.valid();
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (!parse(count, words, options)) {
    std::fprintf(stderr, "usage: relay --io epoll|uring --listen ADDRESS --to ADDRESS [--splice]\n");
    return 2;
  }
  std::string why_not;
  auto made = reactor::make_reactor(options.io, {}, why_not);
  if (!made) {
    std::fprintf(stderr, "relay: %s\n", why_not.c_str());
    return 1;
  }
  reactor::Reactor& reactor = **made;
  const auto listener = reactor.listen(options.listen, {});
  if (!listener) {
    std::fprintf(stderr, "relay: cannot listen: %s: %s\n", listener.error().where, std::strerror(listener.error().sys));
    return 1;
  }
  Relay relay(reactor, options);
  reactor.run(relay);
}
