// Many connections under a seeded storm of pauses, modes and sizes: every byte must arrive once and in order, and every
// connection must end. A lost wake-up shows as a storm that does not end.
#include "base/rng.h"
#include "reactor/fixture.h"

namespace ebb::reactor {
namespace {

char pattern(std::size_t at) { return static_cast<char>((at ^ (at >> 7)) * 37); }

// One end of a connection: sends `total` bytes of the pattern in random pieces, checks what it receives, finishes.
struct Actor {
  SocketId id;
  std::size_t total = 0;
  std::size_t sent = 0;
  std::size_t got = 0;
  bool finished = false;
  bool peer_finished = false;
  bool paused = false;
  bool done() const { return finished && peer_finished; }
};

class Storm : public Handler {
 public:
  Storm(Reactor& reactor, std::uint64_t seed) : reactor_(reactor), rng_(seed) {}

  void start(const base::Address& address, std::uint32_t connections) {
    for (std::uint32_t i = 0; i < connections; ++i) {
      const std::uint32_t actor = add();
      actors_[actor].id = *reactor_.connect(address, owner_of(actor));
    }
    wanted_ = 2 * connections;
  }
  bool complete() const { return closed_ == wanted_; }

  void on_accepted(Owner, SocketId socket, const base::Address&) override {
    const std::uint32_t actor = add();
    actors_[actor].id = socket;
    reactor_.adopt(socket, owner_of(actor));
    change_mode(actors_[actor]);
    send_some(actors_[actor]);
  }
  void on_connected(Owner owner) override {
    change_mode(actor_of(owner));
    send_some(actor_of(owner));
  }
  void on_received(Owner owner, base::Slice bytes) override {
    Actor& actor = actor_of(owner);
    EXPECT_FALSE(actor.paused);
    for (const char byte : bytes.view()) ASSERT_EQ(byte, pattern(actor.got++));
    if (rng_.chance(300)) kept_.push_back(std::move(bytes));
    if (rng_.chance(400)) change_mode(actor);
    if (rng_.chance(300)) send_some(actor);
  }
  void on_peer_finished(Owner owner) override {
    Actor& actor = actor_of(owner);
    EXPECT_FALSE(actor.paused);
    EXPECT_FALSE(actor.peer_finished);
    actor.peer_finished = true;
    close_if_done(actor);
  }
  void on_drained(Owner owner) override { send_some(actor_of(owner)); }
  void on_pumped(Owner, std::uint64_t, bool) override {}
  void on_failed(Owner, const base::Error& error) override { ADD_FAILURE() << error.where << " " << error.sys; }
  void on_timer(Owner owner) override {
    EXPECT_EQ(owner.kind, tick_kind) << "the storm does not end";
    if (owner.kind != tick_kind) reactor_.stop();
  }
  void on_round_end() override {
    if (complete() || testing::Test::HasFailure()) return reactor_.stop();
    kept_.clear();
    for (int i = 0; i < 8; ++i) {
      Actor& actor = actors_[rng_.below(actors_.size())];
      if (actor.id && !actor.done()) prod(actor);
    }
    reactor_.timers().arm(tick_, reactor_.now() + std::chrono::milliseconds{1});
  }

 private:
  static constexpr std::uint32_t tick_kind = 9;

  static Owner owner_of(std::uint32_t actor) { return {1, {actor, 1}}; }
  Actor& actor_of(Owner owner) { return actors_[owner.handle.slot]; }
  std::uint32_t add() {
    actors_.push_back({.total = rng_.below(rng_.chance(200) ? 2'000'000 : 20'000)});
    return static_cast<std::uint32_t>(actors_.size() - 1);
  }
  void prod(Actor& actor) {
    change_mode(actor);
    send_some(actor);
  }
  void change_mode(Actor& actor) {
    const auto mode = static_cast<Receive>(rng_.below(3));
    actor.paused = mode == Receive::paused;
    reactor_.receive(actor.id, mode);
  }
  void send_some(Actor& actor) {
    if (actor.finished) return;
    base::Chain chain;
    for (std::uint64_t pieces = rng_.below(6); pieces > 0 && actor.sent < actor.total; --pieces) {
      const std::size_t count = std::min<std::size_t>(actor.total - actor.sent, rng_.below(60'000) + 1);
      std::string bytes(count, '\0');
      for (char& byte : bytes) byte = pattern(actor.sent++);
      chain.push(reactor_.blocks().copy(bytes));
    }
    if (!chain.empty()) reactor_.send(actor.id, std::move(chain));
    if (actor.sent < actor.total) return;
    actor.finished = true;
    reactor_.finish(actor.id);
    close_if_done(actor);
  }
  void close_if_done(Actor& actor) {
    if (!actor.done()) return;
    reactor_.close(actor.id, CloseMode::flush);
    closed_ += 1;
  }

  Reactor& reactor_;
  base::Rng rng_;
  std::deque<Actor> actors_;
  std::vector<base::Slice> kept_;
  base::Timer tick_{Owner{tick_kind, {0, 1}}};
  std::size_t wanted_ = 0;
  std::size_t closed_ = 0;
};

using RandomTest = ReactorTest;

TEST_P(RandomTest, EveryByteOfAStormArrivesOnceAndInOrder) {
  listen();
  for (std::uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Storm storm(*reactor_, seed);
    storm.start(address_, 40);
    base::Timer watchdog({8, {0, 1}});
    reactor_->timers().arm(watchdog, reactor_->clock().now() + std::chrono::minutes{3});
    reactor_->run(storm);
    EXPECT_TRUE(storm.complete());
  }
}

INSTANTIATE_TEST_SUITE_P(Reactors, RandomTest, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });

}  // namespace
}  // namespace ebb::reactor
