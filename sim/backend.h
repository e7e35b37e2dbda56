// A scripted endpoint: reads requests, checks every byte, answers or strikes as the exchange's plan in the Ledger
// says. Its habits (closing idle connections, slow accepting) are drawn per run. Lives until the end of the run.
#pragma once

#include <string>

#include "sim/content.h"
#include "sim/ledger.h"
#include "sim/message.h"
#include "sim/network.h"

namespace ebb::sim {

struct BackendHabits {
  Duration idle_close_min{};  // 0: keeps idle connections
  Duration idle_close_max{};
  bool idle_close_by_reset = false;
  Duration accept_delay{};
  std::uint32_t backlog = 128;
  std::uint32_t read_max = 65536;
};

class Backend final : private Watcher {
 public:
  Backend(World& world, Network& network, Ledger& ledger, const base::Address& address, std::uint32_t backend);

  void set_habits(const BackendHabits& habits) { habits_ = habits; }
  void open();    // listens
  void refuse();  // stops listening: connection attempts are refused
  // Its endpoint left the configuration of all workers: exchanges that were sent later must not come here.
  void retire() { retired_ = true, retired_at_ = world_.now(); }
  void reinstate() { retired_ = false; }

  const base::Address& address() const { return address_; }

 private:
  enum class Answer : std::uint8_t { none, thinking, writing, written };
  enum class After : std::uint8_t { keep, close, reset, stall };
  struct Connection {
    base::Handle self;
    EndId end;
    MessageReader reader;
    ByteQueue in;
    ByteQueue out;
    std::uint64_t exchange = 0;
    std::uint64_t last_exchange = 0;
    std::uint64_t body_read = 0;
    std::uint32_t served = 0;
    Answer answer = Answer::none;
    bool request_over = false;
    bool stalled = false;
    bool tunnel = false;
    bool scheduled = false;
    After after = After::keep;
    std::uint64_t idle_count = 0;  // tells idle periods apart
  };

  void on_end_changed(base::Handle tag) override;
  void on_port_changed(base::Handle tag) override;
  void accept_one();
  void schedule(Connection& connection);
  void act(base::Handle handle);
  bool read(Connection& connection);
  void begin(Connection& connection);
  std::string head_of_answer(const Exchange& exchange, bool bodiless, bool closes) const;
  void take_body(Connection& connection);
  void answer_after_thought(Connection& connection);
  void answer(Connection& connection, Exchange& exchange);
  void queue_answer(Connection& connection, const Exchange& exchange, Strike strike);
  void write(Connection& connection);
  void message_over(Connection& connection);
  void wait_idle(Connection& connection);
  void drop(Connection& connection, bool by_reset);

  World& world_;
  Network& network_;
  Ledger& ledger_;
  base::Rng rng_;
  base::Address address_;
  std::uint32_t backend_;
  BackendHabits habits_;
  PortId port_;
  bool retired_ = false;
  Instant retired_at_{};
  base::SlotMap<Connection> connections_;
};

}  // namespace ebb::sim
