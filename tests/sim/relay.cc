#include "tests/sim/relay.h"

#include <vector>

namespace ebb::sim {

namespace {

using base::Chain;
using base::Handle;
using base::Slice;
using reactor::CloseMode;
using reactor::Owner;
using reactor::Receive;
using reactor::SocketId;

enum Kind : std::uint32_t { listener = 1, from_client, from_backend };

struct Pair {
  Handle self;
  SocketId client;
  SocketId backend;
  bool client_done = false;
  bool backend_done = false;
  std::uint64_t moved = 0;
};

class Relay final : public Inhabitant, public reactor::Handler {
 public:
  Relay(reactor::Reactor& reactor, Fault fault) : reactor_(reactor), fault_(fault) {}
  ~Relay() override {
    pairs_.for_each([this](Handle, Pair& pair) {
      if (pair.client) reactor_.close(pair.client, CloseMode::drop);
      if (pair.backend) reactor_.close(pair.backend, CloseMode::drop);
    });
  }

  reactor::Handler& handler() override { return *this; }
  void apply(gate::Configuration configuration) override {
    const routes::Snapshot* snapshot = configuration.snapshot.get();
    endpoint_ = snapshot->backends().front().endpoints.front().model.address;
    if (!listener_) listener_ = *reactor_.listen(snapshot->listeners().front().model.bind, {listener, {}});
  }
  void drain() override { reactor_.close_listener(listener_); }
  gate::Audit audit() override {
    gate::Audit audit;
    pairs_.for_each([&audit](Handle, Pair& pair) {
      audit.clients += pair.client ? 1 : 0;
      audit.backends += pair.backend ? 1 : 0;
    });
    audit.blocks_in_use = reactor_.blocks().bytes_in_use();
    return audit;
  }

  void on_accepted(Owner, SocketId socket, const base::Address&) override {
    if (fault_ == Fault::forgets_to_adopt) return;
    const Handle self = pairs_.emplace();
    Pair& pair = *pairs_.find(self);
    pair.self = self;
    pair.client = socket;
    reactor_.adopt(socket, {from_client, self});
    pair.backend = *reactor_.connect(endpoint_, {from_backend, self});
    if (fault_ == Fault::keeps_a_timer) {
      timer_.set_owner({listener, {}});
      reactor_.timers().arm(timer_, reactor_.now() + std::chrono::hours{1});
    }
  }
  void on_connected(Owner owner) override {
    Pair& pair = *pairs_.find(owner.handle);
    reactor_.receive(pair.client, Receive::watchful);
    reactor_.receive(pair.backend, Receive::bulk);
    if (fault_ == Fault::pumps_while_receiving) reactor_.pump(pair.backend, pair.client, 1);
  }

  void on_received(Owner owner, Slice bytes) override {
    Pair& pair = *pairs_.find(owner.handle);
    if (fault_ == Fault::never_answers && owner.kind == from_backend) return;
    Chain chain;
    chain.push(std::move(bytes));
    damage(pair, owner.kind, chain);
    const SocketId from = owner.kind == from_client ? pair.client : pair.backend;
    SocketId to = owner.kind == from_client ? pair.backend : pair.client;
    if (fault_ == Fault::mixes_up_clients && owner.kind == from_backend) to = some_client(pair.client);
    reactor_.send(to, std::move(chain));
    if (reactor_.unsent(to) > 0 && to != from) reactor_.receive(from, Receive::paused);
  }
  void on_drained(Owner owner) override {
    Pair& pair = *pairs_.find(owner.handle);
    const SocketId source = owner.kind == from_client ? pair.backend : pair.client;
    if (source) reactor_.receive(source, Receive::bulk);
  }
  void on_peer_finished(Owner owner) override {
    Pair& pair = *pairs_.find(owner.handle);
    (owner.kind == from_client ? pair.client_done : pair.backend_done) = true;
    const SocketId other = owner.kind == from_client ? pair.backend : pair.client;
    reactor_.finish(other);
    if (fault_ == Fault::sends_after_finish) {
      Chain more;
      more.push(reactor_.blocks().copy("more"));
      reactor_.send(other, std::move(more));
    }
    if (pair.client_done && pair.backend_done) end(pair, CloseMode::flush);
  }
  // A reset on one side is a reset on the other: the peer must not take what it has for complete.
  void on_failed(Owner owner, const base::Error&) override {
    end(*pairs_.find(owner.handle), fault_ == Fault::ends_a_cut_answer_cleanly ? CloseMode::flush : CloseMode::reset);
  }
  void on_pumped(Owner, std::uint64_t, bool) override {}
  void on_timer(Owner) override {}
  void on_round_end() override {
    for (const Handle handle : dead_) pairs_.erase(handle);
    dead_.clear();
  }

 private:
  // What is wrong with it, where bytes pass.
  void damage(Pair& pair, std::uint32_t kind, Chain& chain) {
    pair.moved += chain.bytes();
    const bool late = pair.moved > 300 && kind == from_backend;
    if (fault_ == Fault::drops_a_byte && late) chain.drop_front(1);
    if (fault_ == Fault::doubles_a_byte && late) chain.push(chain.back().part(chain.back().size() - 1, 1));
    if (fault_ == Fault::leaks_a_block) leaked_ = reactor_.blocks().copy("x");
    if (fault_ == Fault::executes_twice && kind == from_client && chain.bytes() > 0) {
      Chain again;
      again.push(reactor_.blocks().copy(chain.front().view()));
      reactor_.send(pair.backend, std::move(again));
    }
  }
  SocketId some_client(SocketId instead_of) {
    SocketId found = instead_of;
    pairs_.for_each([&](Handle, Pair& pair) {
      if (pair.client && pair.client != instead_of) found = pair.client;
    });
    return found;
  }
  void end(Pair& pair, CloseMode mode) {
    if (!pair.client) return;
    reactor_.close(pair.client, mode);
    if (fault_ == Fault::closes_twice) reactor_.close(pair.client, mode);
    if (fault_ != Fault::leaks_a_socket) reactor_.close(pair.backend, mode);
    pair.client = pair.backend = {};
    dead_.push_back(pair.self);
  }

  reactor::Reactor& reactor_;
  Fault fault_;
  base::Address endpoint_;
  reactor::ListenerId listener_;
  base::SlotMap<Pair> pairs_;
  std::vector<Handle> dead_;
  base::Timer timer_;
  Slice leaked_;
};

}  // namespace

MakeInhabitant make_relay(Fault fault) {
  return [fault](reactor::Reactor& reactor, base::Labels&, const gate::Siblings&) {
    return std::make_unique<Relay>(reactor, fault);
  };
}

}  // namespace ebb::sim
