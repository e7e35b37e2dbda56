// Answers, and failures in a row. A failure counts against an endpoint only if its siblings do better on the same kind
// of request meanwhile: a URL that fails everywhere is no endpoint's fault.
//
// Owns nothing: what answers say is in the endpoint's `evidence` (lifecycle/evidence.h). Owned by HealthWatch.
// Ends with the worker. May touch the endpoint that answered, and reports findings.
// Before: gate/response_path, gate/attempts. Next: gate/verdicts.
#pragma once

#include <cstdint>

#include "gate/core.h"
#include "gate/endpoints.h"
#include "gate/findings.h"

namespace ebb::gate {

class Failures {
 public:
  Failures(Core& core, Findings& findings) : core_(core), findings_(findings) {}

  void answered(LiveEndpoint& endpoint, lifecycle::RequestKind kind, lifecycle::ClientKey key, base::Duration taken,
                std::uint16_t status);
  // A fresh connection, before any byte of an answer.
  void broke_off(LiveEndpoint& endpoint, lifecycle::RequestKind kind, lifecycle::ClientKey key, base::Cause cause);

 private:
  void note(LiveEndpoint& endpoint, lifecycle::KindEvidence& row, base::Cause cause);
  lifecycle::AnswerCounts siblings_of(const LiveEndpoint& endpoint, lifecycle::RequestKind kind) const;

  Core& core_;
  Findings& findings_;
};

}  // namespace ebb::gate
