// Tests of the reactor's contract, the same for each implementation. The reactor runs in the test's own thread, round
// by round, until a condition holds; its peers are plain sockets of the kernel on the other end of the loopback.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/descriptor.h"
#include "reactor/reactor.h"

namespace ebb::reactor {

// What the reactor has told about one socket, and what to do when it tells.
struct End {
  SocketId id;
  Owner owner;
  base::Address peer;
  std::string received;
  std::size_t bytes = 0;
  std::size_t pumped = 0;
  bool keep_bytes = true;
  bool keep_slices = false;
  std::vector<base::Slice> slices;
  int accepted = 0;
  int connected = 0;
  int peer_finished = 0;
  int end_in_sight = 0;
  int drained = 0;
  int pump_done = 0;
  std::vector<base::Error> failures;
  std::function<void(End&)> on_received = [](End&) {};
  std::function<void(End&)> on_connected = [](End&) {};
};

class Recorder : public Handler {
 public:
  explicit Recorder(Reactor& reactor) : reactor_(reactor) {}

  End& add();  // lives as long as the recorder
  End& end_of(Owner owner) { return ends_.at(owner.handle.slot); }
  std::deque<End>& ends() { return ends_; }

  // For accepted sockets.
  Receive mode_when_accepted = Receive::watchful;
  std::function<void(End&)> on_accept = [](End&) {};
  std::vector<End*> accepted;
  std::size_t listeners_closed = 0;

  std::vector<std::uint32_t> timers;
  std::function<bool()> until = [] { return true; };
  std::size_t rounds = 0;

  void on_accepted(Owner listener, SocketId socket, const base::Address& peer) override;
  void on_listener_closed(Owner /*listener*/) override { listeners_closed += 1; }
  void on_connected(Owner owner) override;
  void on_received(Owner owner, base::Slice bytes) override;
  void on_peer_finished(Owner owner) override;
  void on_end_in_sight(Owner owner) override { end_of(owner).end_in_sight += 1; }
  void on_drained(Owner owner) override;
  void on_pumped(Owner owner, std::uint64_t moved, bool done) override;
  void on_failed(Owner owner, const base::Error& error) override;
  void on_timer(Owner owner) override;
  void on_round_end() override;

 private:
  Reactor& reactor_;
  std::deque<End> ends_;
};

class ReactorTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Runs rounds until the condition holds; fails the test if that takes unreasonably long.
  void run_until(std::function<bool()> condition);
  void run_rounds(std::size_t count);

  ListenerId listen();
  End& connect(const base::Address& address);
  // A socket of the kernel, connected to our listener, and our end of it.
  struct Pair {
    Descriptor peer;
    End* ours = nullptr;
  };
  Pair accept_one();
  void send(End& end, std::string_view bytes);
  void send_last(End& end, std::string_view bytes);

  SocketLimits limits_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Recorder> recorder_;
  ListenerId listener_;
  base::Address address_;
  std::size_t descriptors_before_ = 0;
};

// Plain sockets, as the other side of the wire. All non-blocking.
Descriptor plain_connect(const base::Address& address);
Descriptor plain_listen(base::Address& address, int backlog = 128);
Descriptor plain_accept(int listener);
void plain_send(int socket, std::string_view bytes);  // all of it, or the test fails
std::string plain_receive(int socket);                // what is there now
enum class Seen : std::uint8_t { open, fin, reset };
Seen plain_state(int socket);  // takes the bytes that are there
std::size_t open_descriptors();

}  // namespace ebb::reactor
