// How endpoints are, by what their connections show. Each worker gathers evidence from its own traffic and tells it to
// the endpoint's home worker; that one keeps the book (lifecycle/verdict.h), probes, and tells its verdict to all
// workers.
//
//   health.cc        evidence in, verdicts out, probes
//   checks.h         active checks, where they are asked for: evidence too, and the probes of what is down
//   health_looks.cc  what shows only when one looks: bytes that nobody acknowledges, requests that nobody answers
//
// Nothing is judged inside a callback: findings are gathered and settled when the round ends.
#pragma once

#include <unordered_map>
#include <vector>

#include "gate/core.h"
#include "gate/endpoints.h"
#include "lifecycle/active_check.h"
#include "lifecycle/verdict.h"

namespace ebb::gate {

struct Exchange;

// A verdict, as it is announced.
struct HealthChange {
  std::string backend;
  std::string endpoint;
  base::Address address;
  lifecycle::Health from = lifecycle::Health::up;
  lifecycle::Health to = lifecycle::Health::up;
  base::Cause cause = base::Cause::completed;  // of the trouble; where it is over: of that which is over
  bool condemned = false;                      // all that was open to it was ended
  bool ejected = false;                        // for a while, for failing
  base::Duration lasted{};                     // how long it had been in `from`
};

struct Finding {
  enum class Kind : std::uint8_t {
    connect_failed,
    delayed,
    stalled,
    silent,
    heard,
    failing,
    check_passed,
    check_failed,
    check_fell,
    check_rose
  };
  std::uint64_t identity = 0;
  Kind kind = Kind::heard;
  base::Cause cause = base::Cause::completed;
};

class HealthWatch {
 public:
  explicit HealthWatch(Core& core);

  // Evidence of this worker's traffic.
  void connect_failed(const EndpointState& endpoint, base::Cause cause);
  void answered(EndpointState& endpoint, base::Duration taken, std::uint16_t status);
  void broke_off(EndpointState& endpoint, base::Cause cause);  // a fresh connection, before any byte of an answer
  // A silent endpoint to which one request should go that can be repeated elsewhere; invalid: none.
  base::Handle trial(base::Handle view);

  // Of gate/checks, at the endpoint's home.
  void checked(std::uint64_t identity, bool passed, lifecycle::ActiveCheck::News news, base::Cause cause);
  void checks_ended(std::uint64_t identity);

  // The endpoint has left, or comes back after that: what its last life was like is not held against the next, on any
  // worker.
  void forget(std::uint64_t identity);

  // For the home worker, from all.
  void take(const Finding& finding) { inbox_.push_back(finding); }
  // For all workers, from the home.
  void apply(std::uint64_t identity, lifecycle::Health health, base::Cause why, bool condemned);

  void settle();  // at the end of a round: what was found is judged
  void arm();     // then, when all is known: there is work to be watched, or not
  void on_timer(base::Owner owner);
  void on_probe_connected(base::Handle probe) { end_probe(probe, true); }
  void on_probe_failed(base::Handle probe) { end_probe(probe, false); }
  void stop();  // no probes any more
  std::size_t probes() const { return probes_.size(); }
  // For the book.
  bool owns(base::Handle probe, reactor::SocketId socket) const {
    const Probe* known = probes_.find(probe);
    return known != nullptr && known->socket == socket;
  }
  std::uint64_t probed(base::Handle probe) const {  // 0: there is no such probe
    const Probe* known = probes_.find(probe);
    return known == nullptr ? 0 : known->identity;
  }
  template <class Callback>  // (handle, socket)
  std::uint32_t for_some_probes(std::uint32_t from, std::uint32_t most, Callback&& callback) {
    return probes_.for_some(from, most,
                            [&callback](base::Handle handle, const Probe& probe) { callback(handle, probe.socket); });
  }

 private:
  struct Probe {
    std::uint64_t identity = 0;
    reactor::SocketId socket;
    base::Timer timer;
  };
  struct Trial {
    base::Handle endpoint;
    base::Instant next{};
    base::Instant silent_since{};
  };
  using Change = lifecycle::Verdict::Change;

  // health.cc
  void report(const Finding& finding);
  void judge(const Finding& finding);
  Change weigh(lifecycle::Verdict& verdict, const Finding& finding);
  bool may_eject(const EndpointState& endpoint) const;
  void announce(std::uint64_t identity, lifecycle::Verdict& verdict, Change change);
  void spread(std::uint64_t identity, lifecycle::Health health, base::Cause why, bool condemned);
  void tell(std::uint64_t identity, const lifecycle::Verdict& verdict, bool condemned);
  void look_at_book();
  void probe(std::uint64_t identity, lifecycle::Verdict& verdict);
  void end_probe(base::Handle probe, bool passed);

  // health_looks.cc
  void look();
  void look_for_stalled();
  void look_for_silent();
  bool sibling_answers(const EndpointState& endpoint) const;
  void relieve_silent(const Trial& trial);

  Core& core_;
  base::Timer timer_;
  base::Instant looked_at_{};
  bool delayed_ = false;  // the last look met bytes that had been sent again
  std::vector<Finding> inbox_;
  std::unordered_map<std::uint64_t, lifecycle::Verdict> book_;  // of endpoints that are, or were lately, not well
  bool probing_ = false;                                        // some of the book need it
  base::SlotMap<Probe> probes_;
  std::vector<Trial> trials_;
};

}  // namespace ebb::gate
