// Drains and their receipts. A drain takes new work away from endpoints. It is complete when every worker has reported
// that the endpoints are unused, and a second look at all workers confirms it: a worker may have got work while another
// was still busy. Endpoints with serve_if_last may get work again later, so another look precedes every answer about a
// drained endpoint.
//
//   draining <-> drained        ended: made ready again, in any way
//
// Owned by the handlers that use it, on the admin thread.
#pragma once

#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "admin/ask_workers.h"
#include "admin/server.h"
#include "admin/sources.h"

namespace ebb::admin {

enum class DrainState : std::uint8_t { draining, drained, ended };
inline constexpr std::string_view drain_state_names[] = {"draining", "drained", "ended"};

struct EndpointPlace {
  std::string backend;
  gate::ListedEndpoint endpoint;
};

struct DrainedEndpoint {
  std::string backend;
  std::string name;
  base::Address address;
  std::uint64_t identity = 0;
  gate::InFlight in_flight;  // of all workers
};

struct DrainReport {
  std::string id;
  DrainState state = DrainState::draining;
  base::WallTime asked_at;
  std::optional<base::WallTime> drained_at;
  std::vector<DrainedEndpoint> endpoints;
  std::size_t workers_silent = 0;  // did not answer in time: their work is unknown
};

struct DrainOptions {
  bool serve_if_last = true;  // else the endpoint gets no work even if no other serves
  bool by_address = false;    // drains an address, whatever its endpoints are called
};

class Drains {
 public:
  static constexpr std::size_t drains_max = 10'000;
  static constexpr base::Duration remembered = std::chrono::minutes{10};  // after it is drained or ended
  static constexpr base::Duration worker_timeout = std::chrono::seconds{1};

  Drains(const Sources& sources, Server& server);

  struct Asked {
    std::string id;
    bool joined = false;  // a drain of these endpoints was already running
  };
  // The places may include endpoints that left the configuration and still have work. Empty if there are too many
  // drains.
  std::optional<Asked> ask(const std::vector<EndpointPlace>& places, const DrainOptions& options);
  // Makes the endpoints ready again.
  bool end(const std::string& id);

  using Done = std::move_only_function<void(DrainReport)>;
  // Reports when the drain is drained or ended, at the latest after `most`. False if there is no such drain.
  bool wait(const std::string& id, base::Duration most, Done done);
  void list(std::move_only_function<void(std::vector<DrainReport>)> done);
  const std::vector<DrainedEndpoint>* endpoints(const std::string& id) const;

 private:
  struct Waiter {
    base::Handle alarm;
    Done done;
  };
  struct Drain {
    std::uint64_t number = 0;  // in the order of creation
    DrainOptions options;
    DrainState state = DrainState::draining;
    base::WallTime asked_at;
    std::optional<base::WallTime> drained_at;
    std::vector<DrainedEndpoint> endpoints;
    std::map<std::uint64_t, Waiter> waiters;
    std::uint64_t waiters_ever = 0;
    bool looking = false;  // a second look is in progress
  };
  struct AddressHash {
    std::size_t operator()(const base::Address& address) const { return address.hash(); }
  };
  using Looks = Replies<std::vector<gate::InFlight>>;  // by endpoint of the drain

  Drain* find(const std::string& id);
  std::string same_drain(const std::vector<EndpointPlace>& places) const;
  void make_room();
  void watch(std::uint64_t identity);
  void on_idle(std::uint64_t identity);
  void confirm(const std::string& id);
  // `drain` is null if it was dropped meanwhile.
  void look(const std::string& id, std::move_only_function<void(Drain* drain, std::size_t silent, bool busy)> then);
  void note_work_again(Drain& drain);
  void settle(const std::string& id, Drain& drain, DrainState state, std::size_t silent);
  void forget_later(const std::string& id);
  // Addresses that get new work.
  std::unordered_set<base::Address, AddressHash> served() const;
  bool ready_again(const Drain& drain) const { return ready_again(drain, served()); }
  bool ready_again(const Drain& drain, const std::unordered_set<base::Address, AddressHash>& served) const;
  DrainReport report(const std::string& id, const Drain& drain, std::size_t silent = 0) const;

  const Sources& sources_;
  Server& server_;
  std::map<std::string, Drain, std::less<>> drains_;
  std::unordered_map<std::uint64_t, std::size_t> watched_;  // by identity: workers that have not reported yet
  std::uint64_t started_ = 0;
};

}  // namespace ebb::admin
