// One worker: a thread's share of the data plane. It receives the reactor's events, hands each to the part that it is
// for, and buries the dead when a round is over. All of it runs on one thread; other threads reach it by
// reactor.post().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gate/attempts.h"
#include "gate/backends.h"
#include "gate/bonds.h"
#include "gate/book.h"
#include "gate/checks.h"
#include "gate/client_limits.h"
#include "gate/clients.h"
#include "gate/connection_facts.h"
#include "gate/core.h"
#include "gate/datagrams.h"
#include "gate/deadlines.h"
#include "gate/endpoints.h"
#include "gate/exchanges.h"
#include "gate/h2_backends.h"
#include "gate/h2_clients.h"
#include "gate/health.h"
#include "gate/held_requests.h"
#include "gate/intake.h"
#include "gate/mirrors.h"
#include "gate/moves.h"
#include "gate/records.h"
#include "gate/relief.h"
#include "gate/request_path.h"
#include "gate/response_path.h"
#include "gate/tunnel.h"
#include "gate/witnesses.h"

namespace ebb::gate {

struct WorkerOptions {
  std::uint32_t clients_max = UINT32_MAX;
  observe::AccessLog::Ring* access_log = nullptr;
  ClientLimits* client_limits = nullptr;  // of all workers; null: none are enforced
  Siblings siblings{};
  std::function<void(const HealthChange&)> on_health_change{};  // by the endpoint's home worker, once; must not block
  std::function<void(const SilenceRelief&)> on_relief{};        // by any worker; must not block
};

// What the simulator's checkers look at.
struct Audit {
  std::size_t clients = 0;
  std::size_t backends = 0;
  std::size_t probes = 0;  // connections of gate/health and gate/checks
  std::size_t exchanges = 0;
  std::size_t witnesses = 0;  // of them: no client waits
  std::size_t mirrors = 0;    // the same
  std::size_t flows = 0;
  std::size_t endpoints = 0;
  std::size_t without_deadline = 0;  // live things that nothing would ever end
  std::size_t flaws = 0;             // of the book: who owns which socket
  std::size_t blocks_in_use = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t missing_transitions = 0;
  std::uint64_t lost_handles = 0;
};

observe::LogFormat log_format(routes::LogFormat format);

class Worker final : public reactor::Handler {
 public:
  Worker(reactor::Reactor& reactor, const base::Labels& labels, const WorkerOptions& options);
  ~Worker() override;

  // A configuration comes in two steps, so that all workers take it or none. prepare() does all that can fail, which is
  // to open the listeners that are new; what could not be done comes back in words. commit() swaps the configuration
  // in: routes and endpoints at once, listeners by difference. Open connections stay. After abandon() all is as before.
  std::vector<std::string> prepare(Configuration configuration);
  void commit();
  void abandon();
  // Both steps, for one worker alone.
  std::vector<std::string> apply(Configuration configuration);

  // A listening socket here is in the way of this address; one that closes still is, for some milliseconds.
  bool holds_listener(const base::Address& address) const;

  // One backend's endpoints alone, between two configurations.
  void change_endpoints(const EndpointList& list) { endpoints_.change(list); }
  std::vector<EndpointFacts> endpoint_facts() { return endpoints_.facts(); }
  std::vector<BackendFacts> backend_facts() { return endpoints_.backend_facts(); }
  // Tells once, on this thread, when nothing here uses the endpoint; at once if so.
  void when_idle(std::uint64_t identity, std::move_only_function<void()> callback) {
    endpoints_.tell_when_idle(identity, std::move(callback));
  }
  Endpoints& endpoints() { return endpoints_; }
  std::vector<ConnectionFacts> connection_facts(const ConnectionFilter& filter);
  // False: there is no such connection.
  bool end_connection(base::Handle client) { return clients_.end(client, base::Cause::operator_ended); }
  // All that the endpoint still has to do.
  void end_work(std::uint64_t identity);
  HealthWatch& health() { return health_; }

  // No new connections; answers end their connections; idle ones close. Tells once when nothing is left.
  void drain(std::move_only_function<void()> when_quiet = {});
  // Everything that is still open is cut.
  void cut();
  bool quiet() const { return clients_.size() == 0 && exchanges_.size() == 0 && datagrams_.size() == 0; }

  observe::Counters collect();  // a copy, with the gauges of this moment
  Audit audit();

  // worker_book.cc: for the self-audit, a step at a time. True: there is more.
  bool read_book(BookCursor& cursor, observe::Claims& out);
  observe::SocketHistory tell(const observe::Claim& claim);

  void on_accepted(base::Owner owner, reactor::SocketId socket, const base::Address& peer) override;
  void on_listener_closed(base::Owner owner) override;
  void on_connected(base::Owner owner) override;
  void on_received(base::Owner owner, base::Slice bytes) override;
  void on_peer_finished(base::Owner owner) override;
  void on_end_in_sight(base::Owner owner) override;
  void on_drained(base::Owner owner) override;
  void on_pumped(base::Owner owner, std::uint64_t moved, bool done) override;
  void on_failed(base::Owner owner, const base::Error& error) override;
  void on_datagram(base::Owner owner, const reactor::Datagram& datagram) override;
  void on_unreachable(base::Owner owner, reactor::DatagramSocketId socket, const base::Error& error) override;
  void on_timer(base::Owner owner) override;
  void on_round_end() override;

 private:
  friend struct MissingRow;
  void prepare_listeners(std::vector<std::string>& problems);
  void change_listeners(const LocalSnapshot& snapshot);
  void close_listener(base::Handle handle);
  std::vector<base::Handle> open_listeners() const;
  const std::shared_ptr<OpenListener>* covering(const base::Address& address) const;
  void bury();
  bool end_broken();
  void send_scheduled();
  void tell_if_quiet();
  bool owns(const reactor::Holding& holding);
  observe::ClaimKind kind_of(const reactor::Holding& holding);
  bool read_holdings(BookCursor& cursor, observe::Claims& out);
  std::uint32_t read_connections(const BookCursor& cursor, observe::Claims& out);

  std::uint64_t snapshots_alive_ = 0;
  Core core_;
  Clients clients_;
  H2Clients h2_clients_;
  Intake intake_;
  Bonds bonds_;
  Exchanges exchanges_;
  Attempts attempts_;
  HeldRequests held_;
  Moves moves_;
  RequestPath request_path_;
  ResponsePath response_path_;
  Tunnel tunnel_;
  Deadlines deadlines_;
  Records records_;
  Mirrors mirrors_;
  Witnesses witnesses_;
  Backends backends_;
  H2Backends h2_backends_;
  Endpoints endpoints_;
  HealthWatch health_;
  Checks checks_;
  Datagrams datagrams_;
  Relief relief_;
  base::SlotMap<std::shared_ptr<OpenListener>> listeners_;
  struct Prepared {
    Configuration configuration;
    std::vector<base::Handle> listeners;
  };
  std::optional<Prepared> prepared_;
  std::move_only_function<void()> when_quiet_;
};

}  // namespace ebb::gate
