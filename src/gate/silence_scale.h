// Weighs requests that wait at an endpoint while its siblings answer the same kind: how surprising would that be of a
// healthy endpoint (lifecycle/surprise.h)? Slow is not dead (docs/decisions/0013-slow-is-not-dead.md), so that the
// result is only a doubt.
//
// Owns the weights of the last look. Owned by HealthWatch; the next look replaces the weights.
// Touches no request and no endpoint: it reports findings.
// Before: gate/waiting_requests, gate/kind_survey. Next: gate/verdicts (silent), gate/rescue (which compares).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gate/core.h"
#include "gate/findings.h"
#include "gate/kind_survey.h"
#include "gate/waiting_requests.h"

namespace ebb::gate {

class SilenceScale {
 public:
  SilenceScale(Core& core, Findings& findings, const WaitingRequests& waiting, KindSurvey& survey)
      : core_(core), findings_(findings), waiting_(waiting), survey_(survey) {}

  void look();

  // Requests wait there that were compared with answers of siblings.
  bool compared(base::Handle endpoint) const { return find(endpoint) != nullptr; }
  // ... and several, so surprisingly that no trial is needed to compare one of them elsewhere.
  bool sure(base::Handle endpoint) const;
  // Endpoints with kinds of requests that wait there, where no sibling was asked meanwhile.
  std::span<const std::pair<base::Handle, lifecycle::RequestKind>> unasked() const { return unasked_; }

 private:
  // Of one endpoint, or of one kind of requests there.
  struct Weight {
    base::Handle endpoint;
    double surprise = 0;
    std::uint32_t requests = 0;
    base::Duration longest{};

    bool sure() const;
    void add(const WaitingRequest& request, double surprise_of_it);
  };
  // Of one endpoint and one kind, while its requests are weighed.
  struct History {
    bool quiet = false;
    lifecycle::AnswerTimes own;
    std::uint32_t late = 0;  // requests there
  };
  using Weights = std::unordered_map<std::uint32_t, Weight>;  // by the endpoint's slot

  const Weight* find(base::Handle endpoint) const;
  std::vector<WaitingRequest> on_all_workers(std::span<const WaitingRequest> here);
  void weigh_kind(std::span<const WaitingRequest> kind);
  History history_of(const WaitingRequest& request, const KindReport* others) const;
  base::Instant answered_elsewhere(std::span<const WaitingRequest> kind);
  bool overdue(const WaitingRequest& each, base::Instant answered) const;
  void report_weights();

  Core& core_;
  Findings& findings_;
  const WaitingRequests& waiting_;
  KindSurvey& survey_;
  Weights weights_;
  std::vector<std::pair<base::Handle, lifecycle::RequestKind>> unasked_;
};

}  // namespace ebb::gate
