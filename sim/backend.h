// A scripted endpoint: reads requests, checks every byte, answers or strikes as the exchange's plan in the Ledger
// says. Its habits (closing idle connections, slow accepting) are drawn per run. Lives until the end of the run, its
// process only from start() to its end; both may fall ill.
//
//   backend.cc        requests and answers
//   backend_fates.cc  what befalls its process
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/content.h"
#include "sim/ledger.h"
#include "sim/line.h"
#include "sim/message.h"
#include "sim/voice.h"

namespace ebb::sim {

struct BackendHabits {
  Duration idle_close_min{};  // 0: keeps idle connections
  Duration idle_close_max{};
  bool idle_close_by_reset = false;
  Duration accept_delay{};
  std::uint32_t backlog = 128;
  std::uint32_t read_max = 65536;
  Duration cold{};      // from the first request of a process: it answers none before
  Duration slow{};      // longer than planned it thinks about each
  bool serial = false;  // it thinks about one request at a time, also about those that nobody waits for any more
};

// What its process suffers from.
enum class Ill : std::uint8_t {
  none,
  frozen,  // stopped: the kernel accepts and acknowledges, nobody reads
  mute,    // reads, and says nothing any more
  gray,    // answers some and never the others
  resets,  // whatever it has accepted
};

class Backend final : private Watcher {
 public:
  Backend(World& world, Network& network, Ledger& ledger, const base::Address& address, std::uint32_t backend);

  void set_habits(const BackendHabits& habits) { habits_ = habits; }
  void set_voice(const Voice& voice) { voice_ = voice; }
  void calm_down();  // speaks as before, and plainly
  const Voice& voice() const { return voice_; }
  void open();    // listens
  void refuse();  // stops listening: connection attempts are refused

  void start();      // a fresh process
  void terminate();  // SIGTERM: accepts no more, closes what is idle, ends what it has begun
  void kill();       // SIGKILL: the kernel closes everything
  void fall_ill(Ill ill);
  void recover();
  void lose_way(Way way);  // of the host
  void find_way();

  // Exchanges that it has, has not answered, and that the router has not let go of.
  std::vector<std::uint64_t> in_hand();

  // Its endpoint left the configuration of all workers: exchanges that were sent later must not come here.
  void retire() {
    if (!std::exchange(retired_, true)) retired_at_ = world_.now();
  }
  void reinstate() { retired_ = false; }
  bool retired() const { return retired_; }
  Instant retired_at() const { return retired_at_; }

  const base::Address& address() const { return address_; }
  const std::string& name() const { return name_; }

 private:
  enum class Answer : std::uint8_t { none, thinking, writing, written };
  enum class After : std::uint8_t { keep, close, reset, stall };
  struct Connection {
    base::Handle self;
    std::unique_ptr<Line> line;
    bool greeted = false;  // handshakes are over
    MessageReader reader;
    ByteQueue in;
    ByteQueue out;
    std::string rest;     // of the answer, after its pause
    Instant speaks_at{};  // the tunnel
    std::uint64_t exchange = 0;
    std::uint64_t last_exchange = 0;
    std::uint64_t body_read = 0;
    std::uint32_t served = 0;
    Answer answer = Answer::none;
    bool request_over = false;
    bool stalled = false;
    bool tunnel = false;
    bool scheduled = false;
    bool answer_due = false;  // thought through while it was frozen
    After after = After::keep;
    std::uint64_t idle_count = 0;  // tells idle periods apart
  };

  void on_end_changed(base::Handle) override {}
  void on_port_changed(base::Handle tag) override;
  void accept_one();
  void schedule(Connection& connection);
  void act(base::Handle handle);
  bool read(Connection& connection);
  void begin(Connection& connection);
  void answer_check(Connection& connection);
  std::string head_of_answer(const Exchange& exchange, bool bodiless, bool closes) const;
  void take_body(Connection& connection);
  void answer_after_thought(Connection& connection);
  Duration time_to_think(Duration needed);
  void pause(Connection& connection, Duration time);
  void answer(Connection& connection, Exchange& exchange);
  void queue_answer(Connection& connection, const Exchange& exchange, Strike strike);
  void write(Connection& connection);
  void message_over(Connection& connection);
  void wait_idle(Connection& connection);
  void drop(Connection& connection, bool by_reset);
  void vanish(Connection& connection);
  std::unique_ptr<Line> accept_line();
  void add_trunk(std::unique_ptr<Line> line);
  void rest_trunk(std::size_t number);
  std::vector<std::shared_ptr<Trunk>> open_trunks();
  Connection& add_connection(std::unique_ptr<Line> line);
  void swallow();
  void close_idle(Connection& connection, bool by_reset);
  bool idle(const Connection& connection) const;
  bool hangs();
  void excuse_work(const char* why);
  std::vector<base::Handle> all();

  World& world_;
  Network& network_;
  Ledger& ledger_;
  base::Rng rng_;
  base::Address address_;
  std::string name_;
  std::uint32_t backend_;
  Ill ill_ = Ill::none;
  bool ends_ = false;  // SIGTERM has come
  Instant warm_at_{};
  Instant busy_until_{};
  BackendHabits habits_;
  Voice voice_;
  PortId port_;
  bool retired_ = false;
  Instant retired_at_{};
  base::SlotMap<Connection> connections_;
  std::vector<std::shared_ptr<Trunk>> trunks_;
  std::size_t trunk_count_ = 0;
};

}  // namespace ebb::sim
