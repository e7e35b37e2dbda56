// The third reactor: reactor::Reactor over the simulated network, one per simulated worker. It is as unkind as the
// contract in reactor/reactor.h allows: sends are taken in part, completions come late, reads are cut anywhere, and
// it watches the handler's side of the contract as well. What the handler does wrong is reported to the world.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "reactor/reactor.h"
#include "sim/datagrams.h"
#include "sim/network.h"
#include "sim/world.h"

namespace ebb::sim {

// Drawn once per run and worker.
struct Kernel {
  bool asynchronous = false;  // as io_uring: output is taken at the end of the round and completes later
  std::uint32_t partial = 0;  // per thousand: a send is taken in part although there is room
  std::uint32_t fd_limit = UINT32_MAX;
  Duration round_delay_max = microseconds{50};  // from an event to the round that sees it
  Duration timer_lag_max{};
  std::uint32_t read_max = 16384;

  static Kernel draw(base::Rng& rng);
};

class SimReactor final : public reactor::Reactor, private Watcher {
 public:
  SimReactor(World& world, Network& network, const base::Address& host, const Kernel& kernel,
             const reactor::SocketLimits& limits, std::uint32_t number);
  ~SimReactor() override;

  // The world drives: run() only says who is to be called, and returns.
  void run(reactor::Handler& handler) override;
  void stop() override { stopped_ = true; }
  void post(std::move_only_function<void()> task) override;

  const char* name() const override { return "sim"; }
  base::Result<reactor::ListenerId> prepare_listener(const base::Address& address, reactor::Owner owner) override;
  void start_listener(reactor::ListenerId listener) override;
  base::Address local_address(reactor::ListenerId listener) const override;
  base::Address local_address(reactor::SocketId) const override { return {}; }  // ends have none in this network
  void close_listener(reactor::ListenerId listener) override;
  base::Result<reactor::SocketId> connect(const base::Address& address, reactor::Owner owner) override;
  void adopt(reactor::SocketId socket, reactor::Owner owner) override;
  void receive(reactor::SocketId socket, reactor::Receive mode) override;
  void send(reactor::SocketId socket, base::Chain&& bytes) override;
  void send_last(reactor::SocketId socket, base::Chain&& bytes) override;
  std::size_t unsent(reactor::SocketId socket) const override;
  std::size_t held(reactor::SocketId socket) const override;
  base::Backlog backlog(reactor::SocketId socket) const override;
  void finish(reactor::SocketId socket) override;
  void close(reactor::SocketId socket, reactor::CloseMode mode) override;
  void pump(reactor::SocketId from, reactor::SocketId to, std::uint64_t bytes) override;
  bool peer_gone(reactor::SocketId socket) override;
  std::optional<reactor::TcpFacts> tcp_facts(reactor::SocketId socket) override;
  void ask_peer(reactor::SocketId socket, bool ask) override;
  // sim_datagrams.cc
  base::Result<reactor::DatagramSocketId> bind_datagrams(const base::Address& address, reactor::Owner owner) override;
  base::Result<reactor::DatagramSocketId> connect_datagrams(const base::Address& peer, reactor::Owner owner) override;
  reactor::DatagramSent send_datagram(reactor::DatagramSocketId socket, std::string_view bytes) override;
  reactor::DatagramSent answer_datagram(reactor::DatagramSocketId socket, std::string_view bytes,
                                        const base::Address& to, const base::Address& from) override;
  base::Address datagram_address(reactor::DatagramSocketId socket) const override;
  void close_datagrams(reactor::DatagramSocketId socket) override;
  bool read_holdings(reactor::HoldingsCursor& cursor, reactor::Holdings& out) override;
  bool holds(reactor::SocketId socket, reactor::Owner owner) const override;
  bool holds(reactor::DatagramSocketId socket, reactor::Owner owner) const override;
  const base::Clock& clock() const override { return world_; }
  base::Instant now() const override { return in_round_ ? round_now_ : world_.now(); }
  base::TimerWheel& timers() override;
  base::BlockPool& blocks() override { return blocks_; }
  reactor::Counters& counters() override { return counters_; }

  // Before the handler asks for one; without, there are no datagrams here.
  void use_datagrams(DatagramNetwork& datagrams) { datagrams_ = &datagrams; }
  std::size_t datagram_sockets() const { return datagram_sockets_.size(); }
  // For checkers.
  std::size_t sockets() const { return sockets_.size(); }
  std::size_t listeners() const { return listeners_.size(); }
  std::uint64_t opened() const { return opened_; }
  std::uint64_t closed() const { return closed_; }
  std::uint64_t rounds() const { return counters_.loops; }
  bool timer_armed() const { return timers_.next_wake() != Instant::max(); }
  // So many descriptors from now on; at the calm phase they are plenty again.
  void set_fd_limit(std::uint32_t limit);
  // All ends that this worker holds, for faults that strike a connection from outside.
  std::vector<EndId> ends();

 private:
  struct Socket {
    reactor::SocketId self;
    EndId end;
    reactor::Owner owner;
    reactor::Receive mode = reactor::Receive::paused;
    base::Chain output;
    Instant output_moved{};  // see base::Backlog
    std::string held;        // read by a multishot receive that had not yet been cancelled
    bool accepted = false;   // by a listener of ours; else we connected
    bool adopted = false;
    bool connected = false;
    bool late_receive = false;    // a cancelled receive may still bring bytes
    bool send_in_flight = false;  // asynchronous kernel: a completion is to come
    bool owes_drained = false;
    bool finish_wanted = false;
    bool finish_reported = false;
    bool end_told = false;  // by on_end_in_sight()
    bool failure_reported = false;
    bool queued = false;  // in ready_
    bool pumping = false;
    reactor::SocketId pump_from;  // names nothing: nobody pumps into this one
    reactor::SocketId pump_to;
    std::uint64_t pump_left = 0;
    std::string pipe;  // left `from`, not yet taken by `to`
  };
  struct Listener {
    reactor::ListenerId self;
    PortId port;
    base::Address address;
    reactor::Owner owner;
    bool started = false;
    bool closing = false;
  };
  // What outlives its socket: close(flush). Unread input is thrown away until the peer's FIN, since closing on it
  // would make the kernel send a reset that may destroy the output on its way.
  struct Lingering {
    EndId end;
    std::string bytes;
    bool draining = false;
    bool finished = false;
    Instant closed{};
    Instant progress{};
    Instant heard{};
  };
  struct DatagramSocket {
    reactor::DatagramSocketId self;
    base::Handle bound;
    base::Address local;
    base::Address peer;  // invalid: bound only
    reactor::Owner owner;
    std::deque<DatagramNetwork::Came> came;
    bool refused = false;
  };
  reactor::DatagramSocketId add_datagrams(const base::Address& local, const base::Address& peer, reactor::Owner owner);
  void serve_datagrams();
  enum class Ending : std::uint8_t { alive, gone };
  static constexpr std::uint32_t lingering_bit = 1u << 31;  // in the slot of a tag: an end of lingering_

  void on_end_changed(base::Handle tag) override;
  void on_port_changed(base::Handle tag) override;

  Socket* expect_open(reactor::SocketId socket, const char* call) const;
  void contract(const std::string& broken);
  void make_ready(Socket& socket);
  void schedule_round();
  void schedule_timer();
  void round();
  void run_tasks();
  void accept_waiting();
  void serve(reactor::SocketId id);
  Ending serve_connect(reactor::SocketId id);
  Ending serve_output(reactor::SocketId id);
  Ending serve_input(reactor::SocketId id);
  Ending serve_pump(reactor::SocketId id);
  void serve_end(reactor::SocketId id);
  void check_adopted();
  void check_last_sent();

  void write_some(Socket& socket);
  void complete_later(Socket& socket);
  void close_later(Socket& socket, bool draining);
  void bound_linger(base::Handle tag);
  void linger(base::Handle tag);
  void bound_silence(base::Handle tag);
  Socket* find(reactor::SocketId id) { return sockets_.find(id); }
  void forget(Socket& socket);
  void end_pump(Socket& from);

  World& world_;
  Network& network_;
  base::Address host_;
  Kernel kernel_;
  reactor::SocketLimits limits_;
  std::uint32_t number_;
  base::Rng rng_;
  reactor::Handler* handler_ = nullptr;
  base::BlockPool blocks_;
  base::TimerWheel timers_;
  reactor::Counters counters_;
  mutable base::SlotMap<Socket> sockets_;
  base::SlotMap<Listener> listeners_;
  DatagramNetwork* datagrams_ = nullptr;
  mutable base::SlotMap<DatagramSocket> datagram_sockets_;
  std::uint32_t next_port_ = 0;
  base::SlotMap<Lingering> lingering_;
  std::vector<reactor::SocketId> ready_;
  std::vector<reactor::SocketId> unadopted_;
  std::vector<reactor::SocketId> last_sent_;  // their finish() or close() must follow
  std::vector<reactor::ListenerId> listener_order_;
  std::deque<std::move_only_function<void()>> tasks_;
  bool in_round_ = false;
  bool stopped_ = false;
  bool round_scheduled_ = false;
  Instant round_now_{};
  Instant timer_scheduled_ = Instant::max();
  std::uint64_t opened_ = 0;
  std::uint64_t closed_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // events outlive a worker that is destroyed
};

}  // namespace ebb::sim
