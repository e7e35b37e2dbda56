// How long the answers of a kind of requests take, at all endpoints of a backend: of this worker's traffic, and with
// what the other workers have reported (gate/kind_survey).
//
// KnownTimes owns the sums that one pass over a backend's requests needs. It lives on the stack of that pass.
// Before: gate/silence_scale, gate/trials, gate/rescue. Next: lifecycle/surprise.
#pragma once

#include <optional>
#include <unordered_map>

#include "gate/core.h"
#include "gate/kind_survey.h"
#include "lifecycle/evidence.h"

namespace ebb::gate {

lifecycle::AnswerTimes times_here(const Core& core, base::Handle view, lifecycle::RequestKind kind);
// Of all workers, as far as they were asked.
lifecycle::AnswerTimes times_of(const Core& core, KindSurvey& survey, base::Handle view, lifecycle::RequestKind kind);

class KnownTimes {
 public:
  KnownTimes(const Core& core, KindSurvey& survey, base::Handle view) : core_(core), survey_(survey), view_(view) {}

  const lifecycle::AnswerTimes& of(lifecycle::RequestKind kind);
  // A kind of which little is known is taken for one like the others, unless some of it have taken as long.
  const lifecycle::AnswerTimes& like(lifecycle::RequestKind kind, base::Duration waited);

 private:
  const Core& core_;
  KindSurvey& survey_;
  base::Handle view_;
  std::unordered_map<lifecycle::RequestKind, lifecycle::AnswerTimes> of_kind_;
  std::optional<lifecycle::AnswerTimes> of_all_;
};

}  // namespace ebb::gate
