// Endpoints that are doubted, as this worker follows them, and the requests that try them: a request of a quick kind
// goes to the endpoint, and no answer in time speaks against it.
//
// Owns one Doubted for each of these endpoints, which ends with the doubt or the endpoint. Owned by HealthWatch.
// May touch what an endpoint remembers of its silences; moves no request (gate/rescue and gate/moves do).
// Before: gate/health (apply), gate/moves (trial, failed). Next: gate/verdicts (trial_failed, heard).
#pragma once

#include <optional>
#include <vector>

#include "gate/core.h"
#include "gate/endpoints.h"
#include "gate/findings.h"
#include "gate/health_news.h"
#include "gate/kind_survey.h"
#include "gate/waiting_requests.h"
#include "lifecycle/surprise.h"

namespace ebb::gate {

class Trials {
 public:
  Trials(Core& core, Findings& findings, const WaitingRequests& waiting, KindSurvey& survey)
      : core_(core), findings_(findings), waiting_(waiting), survey_(survey) {}

  // A doubted endpoint that a request should be tried with.
  struct Offer {
    base::Handle endpoint;
    lifecycle::TrialPlan plan;
  };

  // News of the endpoint's doubt.
  void follow(LiveEndpoint& endpoint, const HealthNews& news);
  void forget(LiveEndpoint& endpoint);
  void report_heard();  // which of them have sent a byte since the doubt
  void drop_ended();    // with their endpoints

  std::optional<Offer> offer(base::Handle view, lifecycle::RequestKind kind);
  void failed(base::Handle endpoint, const lifecycle::TrialPlan& plan);
  // An HTTP/2 PING is a trial in the endpoint's own protocol.
  void ping_unanswered(const LiveEndpoint& endpoint);
  // Of a trial that was sent then: some other endpoint has answered what was asked later.
  bool others_answer(base::Handle endpoint, base::Instant asked) const;

  // In that state on this worker, unless the operator wants no inference from silence.
  std::vector<base::Handle> those(lifecycle::Doubt doubt) const;
  // No trial is under way or was possible for a while: one of its requests may be compared elsewhere, now. `sure`: no
  // trial is needed for that. True is said once in a while.
  bool claim_comparison(base::Handle endpoint, bool sure);

 private:
  struct Doubted {
    base::Handle endpoint;
    base::Instant since{};
    base::Instant next{};              // once that is confirmed
    base::Instant compare_at{};        // where no trial comes by: a request that waits there is asked elsewhere
    std::vector<base::Instant> until;  // of those under way, before

    void drop_over(base::Instant now) {
      std::erase_if(until, [now](base::Instant each) { return each <= now; });
    }
  };

  std::optional<lifecycle::TrialPlan> plan(const LiveEndpoint& endpoint, lifecycle::RequestKind kind);
  bool may_try(const LiveEndpoint& endpoint) const;
  bool wants_trial(Doubted& doubted, const LiveEndpoint& endpoint) const;
  bool begin(Doubted& doubted, const LiveEndpoint& endpoint, const lifecycle::TrialPlan& plan) const;
  void remember_survival(LiveEndpoint& endpoint) const;

  Core& core_;
  Findings& findings_;
  const WaitingRequests& waiting_;
  KindSurvey& survey_;
  std::vector<Doubted> doubted_;
};

}  // namespace ebb::gate
