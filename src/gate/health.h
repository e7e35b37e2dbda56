// How endpoints are, by what their connections and their answers show. The rest of the gate knows this class only: it
// tells each part what concerns it, and says in which order they look, every 200 ms while there is work.
//
// Owns the parts below and the timer of the looks. Owned by the Worker, ends with it; stop() ends the probes.
//
//   evidence     failures, stalls, reach; of silence waiting_requests, kind_survey, known_times, silence_scale
//   on its way   findings, to the endpoint's home worker
//   judged       verdicts, with probes; each worker gets the news by apply()
//   followed     trials, rescue, reach, and Endpoints::set_health
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gate/core.h"
#include "gate/endpoints.h"
#include "gate/failures.h"
#include "gate/findings.h"
#include "gate/health_news.h"
#include "gate/kind_survey.h"
#include "gate/probes.h"
#include "gate/reach.h"
#include "gate/rescue.h"
#include "gate/silence_scale.h"
#include "gate/stalls.h"
#include "gate/trials.h"
#include "gate/verdicts.h"
#include "gate/waiting_requests.h"

namespace ebb::gate {

class HealthWatch {
 public:
  static constexpr base::Duration look_interval = std::chrono::milliseconds{200};

  explicit HealthWatch(Core& core);

  // Evidence of this worker's traffic.
  void connect_failed(const LiveEndpoint& endpoint, base::Cause cause) { reach_.connect_failed(endpoint, cause); }
  void connect_slow(const LiveEndpoint& endpoint) { reach_.connect_slow(endpoint); }
  void answered(LiveEndpoint& endpoint, lifecycle::RequestKind kind, lifecycle::ClientKey key, base::Duration taken,
                std::uint16_t status) {
    failures_.answered(endpoint, kind, key, taken, status);
  }
  void broke_off(LiveEndpoint& endpoint, lifecycle::RequestKind kind, lifecycle::ClientKey key, base::Cause cause) {
    failures_.broke_off(endpoint, kind, key, cause);
  }
  void given_up(LiveEndpoint& endpoint, lifecycle::RequestKind kind, base::Instant asked) {
    waiting_.given_up(endpoint, kind, asked);
  }
  // `hangs`: the endpoint's kernel has got the PING, and this is the first time that the connection says so.
  void ping_unanswered(const BackendConnection& connection, bool hangs);

  // Trials of doubted endpoints.
  std::optional<Trials::Offer> trial(base::Handle view, lifecycle::RequestKind kind) {
    return trials_.offer(view, kind);
  }
  void trial_failed(base::Handle endpoint, const lifecycle::TrialPlan& plan) { trials_.failed(endpoint, plan); }
  bool others_answer(base::Handle endpoint, base::Instant asked) const {
    return trials_.others_answer(endpoint, asked);
  }

  // Of gate/checks, at the endpoint's home.
  void checked(std::uint64_t identity, lifecycle::ActiveCheck::News news, const CheckResult& result, bool told) {
    verdicts_.checked(identity, news, result, told);
  }
  void checks_ended(std::uint64_t identity) { verdicts_.checks_ended(identity); }

  // The endpoint has left, or comes back after that.
  void forget(std::uint64_t identity) { verdicts_.forget(identity); }
  void forget_doubt(LiveEndpoint& endpoint) { trials_.forget(endpoint); }  // on this worker

  // From other workers.
  void take(const Finding& finding) { findings_.take(finding); }
  void answer(std::size_t asker, std::span<const KindQuestion> questions) const { survey_.answer(asker, questions); }
  void take(std::size_t worker, std::vector<KindAnswer> answers) { survey_.take(worker, std::move(answers)); }
  void ask_early(std::uint64_t identity) { reach_.ask_early(identity); }
  // From the home worker, for all.
  void apply(std::uint64_t identity, const HealthNews& news);

  void settle() { verdicts_.settle(); }  // at the end of a round
  void arm();                            // then, when all is known: there is work to be watched, or not
  void on_timer(base::Owner owner);
  void on_probe_connected(base::Handle probe) { end_probe(probe, true); }
  void on_probe_failed(base::Handle probe) { end_probe(probe, false); }
  void stop() { probes_.end_all(); }
  Probes& probes() { return probes_; }

 private:
  void look();
  void look_for_silent();
  void end_probe(base::Handle probe, bool passed);

  Core& core_;
  Findings findings_{core_};
  Probes probes_{core_};
  Verdicts verdicts_{core_, findings_, probes_};
  Failures failures_{core_, findings_};
  Stalls stalls_{core_, findings_};
  Reach reach_{core_, findings_};
  WaitingRequests waiting_{core_};
  KindSurvey survey_{core_, waiting_};
  SilenceScale scale_{core_, findings_, waiting_, survey_};
  Trials trials_{core_, findings_, waiting_, survey_};
  Rescue rescue_{core_, waiting_, survey_, scale_, trials_};
  base::Timer timer_;
  base::Duration next_look_ = look_interval;
};

}  // namespace ebb::gate
