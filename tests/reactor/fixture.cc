#include "reactor/fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>

namespace ebb::reactor {

namespace {

constexpr std::uint32_t end_kind = 1;
constexpr std::uint32_t listener_kind = 2;
constexpr std::uint32_t watchdog_kind = 3;
constexpr std::uint32_t tick_kind = 4;

}  // namespace

End& Recorder::add() {
  End& end = ends_.emplace_back();
  end.owner = {end_kind, {static_cast<std::uint32_t>(ends_.size() - 1), 1}};
  return end;
}

void Recorder::on_accepted(Owner listener, SocketId socket, const base::Address& peer) {
  EXPECT_EQ(listener.kind, listener_kind);
  End& end = add();
  end.id = socket;
  end.peer = peer;
  end.accepted += 1;
  accepted.push_back(&end);
  reactor_.adopt(socket, end.owner);
  reactor_.receive(socket, mode_when_accepted);
  on_accept(end);
}

void Recorder::on_connected(Owner owner) {
  End& end = end_of(owner);
  end.connected += 1;
  end.on_connected(end);
}

void Recorder::on_received(Owner owner, base::Slice bytes) {
  End& end = end_of(owner);
  EXPECT_GT(bytes.size(), 0u);
  if (end.keep_bytes) end.received += bytes.view();
  end.bytes += bytes.size();
  if (end.keep_slices) end.slices.push_back(std::move(bytes));
  end.on_received(end);
}

void Recorder::on_peer_finished(Owner owner) { end_of(owner).peer_finished += 1; }
void Recorder::on_drained(Owner owner) { end_of(owner).drained += 1; }
void Recorder::on_pumped(Owner owner, std::uint64_t moved, bool done) {
  end_of(owner).pumped += moved;
  end_of(owner).pump_done += done ? 1 : 0;
}
void Recorder::on_failed(Owner owner, const base::Error& error) { end_of(owner).failures.push_back(error); }
void Recorder::on_timer(Owner owner) {
  EXPECT_NE(owner.kind, watchdog_kind) << "the condition did not come true";
  if (owner.kind != watchdog_kind && owner.kind != tick_kind) timers.push_back(owner.handle.slot);
}
void Recorder::on_round_end() {
  rounds += 1;
  if (until()) reactor_.stop();
}

void ReactorTest::SetUp() {
  descriptors_before_ = open_descriptors();
  std::string why_not;
  auto made = make_reactor(GetParam(), limits_, why_not);
  if (!made && GetParam() == Kind::uring) GTEST_SKIP() << "no io_uring here: " << why_not;
  ASSERT_TRUE(made) << why_not;
  reactor_ = std::move(*made);
  recorder_ = std::make_unique<Recorder>(*reactor_);
}

void ReactorTest::TearDown() {
  if (reactor_ == nullptr) return;
  reactor_.reset();
  recorder_.reset();
  EXPECT_EQ(open_descriptors(), descriptors_before_);
}

void ReactorTest::run_until(std::function<bool()> condition) {
  if (condition()) return;
  base::Timer watchdog({watchdog_kind, {0, 1}});
  reactor_->timers().arm(watchdog, reactor_->clock().now() + std::chrono::minutes{3});
  // Peers are not the reactor's: their progress makes no event here, so look every few milliseconds.
  base::Timer tick({tick_kind, {0, 1}});
  recorder_->until = [&] {
    if (condition()) return true;
    if (!watchdog.armed()) return true;
    reactor_->timers().arm(tick, reactor_->now() + std::chrono::milliseconds{2});
    return false;
  };
  reactor_->timers().arm(tick, reactor_->clock().now());
  reactor_->run(*recorder_);
}

void ReactorTest::run_rounds(std::size_t count) {
  const std::size_t last = recorder_->rounds + count;
  run_until([this, last] { return recorder_->rounds >= last; });
}

ListenerId ReactorTest::listen() {
  auto made = reactor_->listen(*base::Address::parse("127.0.0.1:0"), {listener_kind, {0, 1}});
  EXPECT_TRUE(made.has_value());
  listener_ = *made;
  address_ = reactor_->local_address(listener_);
  return listener_;
}

End& ReactorTest::connect(const base::Address& address) {
  End& end = recorder_->add();
  auto made = reactor_->connect(address, end.owner);
  EXPECT_TRUE(made.has_value());
  if (made) end.id = *made;
  return end;
}

ReactorTest::Pair ReactorTest::accept_one() {
  if (!listener_) listen();
  const std::size_t before = recorder_->accepted.size();
  Pair pair;
  pair.peer = plain_connect(address_);
  run_until([&] { return recorder_->accepted.size() > before; });
  pair.ours = recorder_->accepted.back();
  return pair;
}

void ReactorTest::send(End& end, std::string_view bytes) {
  base::Chain chain;
  chain.push(reactor_->blocks().copy(bytes));
  reactor_->send(end.id, std::move(chain));
}

void ReactorTest::send_last(End& end, std::string_view bytes) {
  base::Chain chain;
  chain.push(reactor_->blocks().copy(bytes));
  reactor_->send_last(end.id, std::move(chain));
}

Descriptor plain_connect(const base::Address& address) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(socket.get(), address.raw(), address.raw_size()), 0);
  ::fcntl(socket.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  return socket;
}

Descriptor plain_listen(base::Address& address, int backlog) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const base::Address any = *base::Address::parse("127.0.0.1:0");
  EXPECT_EQ(::bind(socket.get(), any.raw(), any.raw_size()), 0);
  EXPECT_EQ(::listen(socket.get(), backlog), 0);
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &size);
  address = base::Address::from(reinterpret_cast<sockaddr*>(&storage));
  return socket;
}

Descriptor plain_accept(int listener) {
  return Descriptor(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

void plain_send(int socket, std::string_view bytes) {
  ASSERT_EQ(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

std::string plain_receive(int socket) {
  std::string bytes(std::size_t{1} << 20, '\0');
  const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

Seen plain_state(int socket) {
  char bytes[65536];
  while (true) {
    const ssize_t got = ::recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got == 0) return Seen::fin;
    if (got < 0) return errno == EAGAIN ? Seen::open : Seen::reset;
  }
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += 1;
  return count;
}

}  // namespace ebb::reactor
