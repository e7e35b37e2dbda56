// The verdicts on the endpoints whose home this worker is. All evidence of all workers is joined here, once in a round;
// lifecycle/verdict.h holds what is known of one endpoint and draws the conclusion.
//
// Owns a Verdict for each endpoint that is, or was lately, not well. Owned by HealthWatch. A verdict ends when nothing
// is left to be remembered, or when its endpoint has left.
// May begin probes and ask for checks; changes no endpoint: it spreads news, and each worker applies them.
// Before: gate/findings, gate/checks, gate/probes. Next: gate/health (apply), on all workers.
#pragma once

#include <unordered_map>
#include <vector>

#include "gate/check_facts.h"
#include "gate/core.h"
#include "gate/endpoints.h"
#include "gate/findings.h"
#include "gate/health_news.h"
#include "gate/probes.h"
#include "lifecycle/active_check.h"
#include "lifecycle/verdict.h"

namespace ebb::gate {

class Verdicts {
 public:
  Verdicts(Core& core, Findings& findings, Probes& probes) : core_(core), findings_(findings), probes_(probes) {}

  // At the end of a round.
  void settle() {
    if (findings_.any()) judge_all();
  }
  void look();  // now and then, while needs_looks(): what is due without a finding
  // Some endpoint is down or suspect: only probes can help it, or time.
  bool needs_looks() const { return needs_looks_; }

  // Of gate/checks, at the endpoint's home. `told`: that it was not answered counts already.
  void checked(std::uint64_t identity, lifecycle::ActiveCheck::News news, const CheckResult& result, bool told);
  void checks_ended(std::uint64_t identity);
  void probe_ended(std::uint64_t identity, bool passed);
  // The endpoint has left, or comes back after that: its last life is not held against the next, on any worker.
  void forget(std::uint64_t identity);

 private:
  using Change = lifecycle::Verdict::Change;
  struct Due {
    std::vector<std::uint64_t> probe_or_decide, forget, withdraw;  // the last: silence was switched off meanwhile
  };

  void judge_all();
  void judge(const Finding& finding);
  Change weigh(const LiveEndpoint& endpoint, lifecycle::Verdict& verdict, const Finding& finding) const;
  Change weigh_silence(const LiveEndpoint& endpoint, lifecycle::Verdict& verdict, const Finding& finding) const;
  bool may_eject(const LiveEndpoint& endpoint) const;
  bool judges_silence(const LiveEndpoint& endpoint) const;
  void announce(std::uint64_t identity, lifecycle::Verdict& verdict, Change change);
  void tell(const LiveEndpoint& endpoint, const lifecycle::Verdict& verdict, bool condemned) const;
  void spread(std::uint64_t identity, const HealthNews& news);
  Due find_due();
  void act_on(std::uint64_t identity, lifecycle::Verdict& verdict);
  void probe(std::uint64_t identity, lifecycle::Verdict& verdict);

  Core& core_;
  Findings& findings_;
  Probes& probes_;
  std::unordered_map<std::uint64_t, lifecycle::Verdict> verdicts_;
  bool needs_looks_ = false;
};

}  // namespace ebb::gate
