// How endpoints are, by what their connections show. Each worker gathers evidence from its own traffic and tells it to
// the endpoint's home worker; that one keeps the book (lifecycle/verdict.h), probes, and tells its verdict to all
// workers.
//
//   health.cc        evidence in, verdicts out, probes
//   checks.h         active checks, where they are asked for: evidence too, and the probes of what is down
//   health_looks.cc  what shows only when one looks: bytes that nobody acknowledges
//   health_reach.cc  what is still open to an endpoint that cannot be reached any more
//   health_silence.cc  the same of requests that nobody answers; trials, and what follows from them
//   kind_survey.h      what the other workers know about such requests
//
// Nothing is judged inside a callback: findings are gathered and settled when the round ends.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gate/check_facts.h"
#include "gate/core.h"
#include "gate/endpoints.h"
#include "gate/kind_survey.h"
#include "lifecycle/active_check.h"
#include "lifecycle/surprise.h"
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
  base::Cause cause = base::Cause::none;  // of the trouble; where it is over: of that which is over
  bool condemned = false;                 // all that was open to it was ended
  bool ejected = false;                   // for a while, for failing
  base::Duration lasted{};                // how long it had been in `from`
  lifecycle::Doubt doubt = lifecycle::Doubt::none;
  double surprise = 0;              // lifecycle/surprise.h: of what speaks against it
  std::uint32_t trials_failed = 0;  // among that
};

// What followed on one worker from a confirmed silence.
struct SilenceRelief {
  std::string backend;
  std::string endpoint;
  base::Address address;
  std::uint32_t moved = 0;  // requests, to other endpoints
  std::uint32_t kept = 0;   // that stay: they cannot be repeated, or are taken for slow
};

struct Finding {
  enum class Kind : std::uint8_t {
    connect_failed,
    delayed,
    stalled,
    silent,
    ping_unanswered,
    trial_failed,
    heard,
    failing,
    check_passed,
    check_failed,
    check_fell,
    check_rose
  };
  std::uint64_t identity = 0;
  Kind kind = Kind::heard;
  base::Cause cause = base::Cause::none;
  double surprise = 0;      // of `silent` and `trial_failed`
  bool unanswered = false;  // of a check: it took too long
};

// What is spread about an endpoint.
struct HealthNews {
  lifecycle::Health health = lifecycle::Health::up;
  base::Cause why = base::Cause::none;
  lifecycle::Doubt doubt = lifecycle::Doubt::none;
  bool siblings_answer = false;  // the requests that it lets wait
  bool condemned = false;
  bool heard = false;  // bytes of it have ended the doubt
};

class HealthWatch {
 public:
  static constexpr base::Duration look_interval = std::chrono::milliseconds{200};

  explicit HealthWatch(Core& core);

  // Evidence of this worker's traffic.
  void connect_failed(const LiveEndpoint& endpoint, base::Cause cause);
  void connect_slow(const LiveEndpoint& endpoint);
  void answered(LiveEndpoint& endpoint, lifecycle::RequestKind kind, lifecycle::ClientKey key, base::Duration taken,
                std::uint16_t status);
  // Whoever waited for an answer to a request, asked then, does so no longer.
  void given_up(LiveEndpoint& endpoint, lifecycle::RequestKind kind, base::Instant asked);
  // A fresh connection, before any byte of an answer.
  void broke_off(LiveEndpoint& endpoint, lifecycle::RequestKind kind, lifecycle::ClientKey key, base::Cause cause);

  // A silent endpoint that a request of this kind should be tried with, if it can be repeated elsewhere.
  struct Trial {
    base::Handle endpoint;
    lifecycle::TrialPlan plan;
  };
  std::optional<Trial> trial(base::Handle view, lifecycle::RequestKind kind);
  void trial_failed(base::Handle endpoint, const lifecycle::TrialPlan& plan);
  // Of a trial that was sent then: some other endpoint has answered what was asked later.
  bool others_answer(base::Handle endpoint, base::Instant asked) const;
  // `hangs`: the endpoint's kernel has got it, and this is the first time that the connection says so.
  void ping_unanswered(const BackendConnection& connection, bool hangs);

  // Of gate/checks, at the endpoint's home.
  // `told`: that it was not answered counts already.
  void checked(std::uint64_t identity, lifecycle::ActiveCheck::News news, const CheckResult& result, bool told);
  void checks_ended(std::uint64_t identity);

  // The endpoint has left, or comes back after that: what its last life was like is not held against the next, on any
  // worker.
  void forget(std::uint64_t identity);
  void forget_doubt(LiveEndpoint& endpoint);  // on this one

  // For the home worker, from all.
  void take(const Finding& finding) { inbox_.push_back(finding); }
  // For any worker, from one where requests of these kinds wait.
  void answer(std::size_t asker, std::span<const KindQuestion> questions);
  // For that one.
  void take(std::size_t worker, std::vector<KindAnswer> answers);
  // For all workers, from the home.
  void apply(std::uint64_t identity, const HealthNews& news);

  void settle();  // at the end of a round: what was found is judged
  void arm();     // then, when all is known: there is work to be watched, or not
  void on_timer(base::Owner owner);
  void on_probe_connected(base::Handle probe) { end_probe(probe, true); }
  void on_probe_failed(base::Handle probe) { end_probe(probe, false); }
  void stop();  // no probes any more
  std::size_t probes() const { return probes_.size(); }
  // For the book.
  bool owns(base::Handle probe, reactor::SocketId socket) const {
    const ProbeConnection* known = probes_.find(probe);
    return known != nullptr && known->socket == socket;
  }
  std::uint64_t probed(base::Handle probe) const {  // 0: there is no such probe
    const ProbeConnection* known = probes_.find(probe);
    return known == nullptr ? 0 : known->identity;
  }
  template <class Callback>  // (handle, socket)
  std::uint32_t for_some_probes(std::uint32_t from, std::uint32_t most, Callback&& callback) {
    return probes_.for_some(
        from, most, [&callback](base::Handle handle, const ProbeConnection& probe) { callback(handle, probe.socket); });
  }

 private:
  struct ProbeConnection {
    std::uint64_t identity = 0;
    reactor::SocketId socket;
    base::Timer timer;
  };
  // Of one endpoint that is doubted.
  struct Trials {
    base::Handle endpoint;
    base::Instant since{};
    base::Instant next{};              // once that is confirmed
    base::Instant compare_at{};        // where no trial comes by: a request that waits there is asked elsewhere
    std::vector<base::Instant> until;  // of those under way, before
  };
  // A request that has waited for longer than is worth a thought.
  struct Waiting {
    base::Handle view, endpoint;
    lifecycle::RequestKind kind = 0;
    base::Duration waited{};
    bool overtaken = false;  // its endpoint has answered others meanwhile: it is slow by nature

    bool same_kind(const Waiting& other) const { return view == other.view && kind == other.kind; }
    bool before(const Waiting& other) const {
      if (view != other.view) return view.slot < other.view.slot;
      if (kind != other.kind) return kind < other.kind;
      return waited > other.waited;
    }
  };
  // An endpoint the peers of whose connections are asked whether they are there.
  struct Reach {
    base::Handle endpoint;
    base::Instant until = base::Instant::max();  // max: no connection can be established; else perhaps, up to then
    // What its connections say, while all are looked at.
    std::uint32_t answered = 0, unanswered = 0, pending = 0;
    base::Instant last_asked = long_ago;

    bool lost() const { return until == base::Instant::max(); }
  };
  using Change = lifecycle::Verdict::Change;

  // health.cc
  void report(const Finding& finding);
  void judge(const Finding& finding);
  Change weigh(lifecycle::Verdict& verdict, const Finding& finding);
  bool may_eject(const LiveEndpoint& endpoint) const;
  bool judges_silence(const LiveEndpoint& endpoint) const;
  void announce(std::uint64_t identity, lifecycle::Verdict& verdict, Change change);
  void spread(std::uint64_t identity, const HealthNews& news);
  void tell(std::uint64_t identity, const lifecycle::Verdict& verdict, bool condemned);
  void look_at_book();
  void probe(std::uint64_t identity, lifecycle::Verdict& verdict);
  void end_probe(base::Handle probe, bool passed);

  // health_looks.cc
  void look();
  void look_for_stalled(base::Instant now);

  // health_reach.cc
  void follow_reach(const LiveEndpoint& endpoint, const HealthNews& news);
  void ask_early(std::uint64_t identity);
  bool has_connections(base::Handle endpoint) const;
  void ask_peers(base::Handle endpoint);
  void leave_peers(base::Handle endpoint);
  void look_for_unreachable();
  void take_answer(Reach& reach, const BackendConnection& connection);
  void weigh_answers(Reach& reach);

  // health_failures.cc
  void note_failure(LiveEndpoint& endpoint, lifecycle::KindEvidence& row, base::Cause cause);
  lifecycle::AnswerCounts siblings_of(const LiveEndpoint& endpoint, lifecycle::RequestKind kind) const;

  // health_silence.cc
  class KnownTimes;
  void look_for_silent();
  void find_waiting();
  void forget_waiting();
  void ask_workers();
  KindReport report_on(const KindQuestion& question) const;
  std::vector<Waiting> on_all_workers(std::span<const Waiting> here);
  void weigh_kind(std::span<const Waiting> kind);
  base::Instant answered_elsewhere(const BackendView& view, std::span<const Waiting> kind);
  bool overdue(const Waiting& each, base::Instant answered) const;
  // Of all endpoints of the backend, on this worker.
  lifecycle::AnswerTimes times_here(base::Handle view, lifecycle::RequestKind kind) const;
  // The same, on all workers as far as they were asked.
  lifecycle::AnswerTimes times_of(base::Handle view, lifecycle::RequestKind kind);
  lifecycle::AnswerTimes times_of_all_kinds(base::Handle view) const;
  std::optional<lifecycle::TrialPlan> plan_trial(const LiveEndpoint& endpoint, lifecycle::RequestKind kind);
  void relieve();
  void relieve(const LiveEndpoint& endpoint);
  void relieved(base::Handle endpoint, std::uint32_t moved);
  base::Duration survived_by(const BackendView& view) const;  // the longest silence that some endpoint came back after
  base::Instant first_asked(base::Handle endpoint) const;     // of the requests that wait for its answer
  bool another_may_answer(const LiveEndpoint& endpoint, base::Instant asked) const;
  template <class Predicate>
  bool any_sibling(const LiveEndpoint& endpoint, Predicate predicate) const;
  bool owes(base::Handle endpoint) const;  // an answer, for longer than is worth a thought
  bool surely_doubted(base::Handle endpoint) const;
  void ask_siblings();
  bool requests_are_slow(const LiveEndpoint& endpoint) const;
  void compare(Trials& trials, const LiveEndpoint& endpoint);
  void move_one(const LiveEndpoint& endpoint, bool sure, std::optional<lifecycle::RequestKind> of = {});
  void follow_doubt(LiveEndpoint& endpoint, const HealthNews& news);

  Core& core_;
  base::Timer timer_;
  base::Instant looked_at_{};
  bool delayed_ = false;  // the last look met bytes that had been sent again
  std::vector<Finding> inbox_;
  std::unordered_map<std::uint64_t, lifecycle::Verdict> book_;  // of endpoints that are, or were lately, not well
  bool probing_ = false;                                        // some of the book need it
  base::SlotMap<ProbeConnection> probes_;
  std::vector<Trials> trials_;
  std::vector<Waiting> waiting_;           // as of the last look
  std::vector<base::Handle> given_up_at_;  // endpoints that have said nothing since requests to them were given up
  KindSurvey survey_{core_};
  std::vector<Reach> reaches_;
  struct Doubted {
    base::Handle endpoint;
    double surprise = 0;
    std::uint32_t requests = 0;
    base::Duration longest{};
  };
  // While it looks, by the endpoint's slot.
  std::unordered_map<std::uint32_t, Doubted> doubted_;
  // Endpoints with kinds of requests that wait there, where no sibling was asked meanwhile.
  std::vector<std::pair<base::Handle, lifecycle::RequestKind>> unasked_;
  // As of the last look, by slot: endpoints that were asked within the time that is worth no thought; views with
  // requests that have moved, and still wait at an endpoint that may handle one at a time.
  std::unordered_set<std::uint32_t> asked_lately_;
  std::unordered_map<std::uint32_t, std::uint32_t> slow_elsewhere_;
};

}  // namespace ebb::gate
