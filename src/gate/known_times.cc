#include "gate/known_times.h"

#include "gate/endpoints.h"
#include "lifecycle/surprise.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::AnswerTimes;
using lifecycle::KindEvidence;
using lifecycle::RequestKind;

namespace {

AnswerTimes times_of_all_kinds(const Core& core, Handle view) {
  AnswerTimes sum;
  for (const Handle handle : core.endpoints->view(view).endpoints) {
    const LiveEndpoint* endpoint = core.endpoints->find(handle);
    if (endpoint != nullptr) sum.add(endpoint->evidence.times());
  }
  return sum;
}

}  // namespace

AnswerTimes times_here(const Core& core, Handle view, RequestKind kind) {
  AnswerTimes sum;
  for (const Handle handle : core.endpoints->view(view).endpoints) {
    const LiveEndpoint* endpoint = core.endpoints->find(handle);
    const KindEvidence* known = endpoint == nullptr ? nullptr : endpoint->evidence.find(kind);
    if (known != nullptr) sum.add(known->times);
  }
  return sum;
}

AnswerTimes times_of(const Core& core, KindSurvey& survey, Handle view, RequestKind kind) {
  AnswerTimes sum = times_here(core, view, kind);
  if (const KindReport* others = survey.find(view, kind); others != nullptr) sum.add(others->times);
  return sum;
}

const AnswerTimes& KnownTimes::of(RequestKind kind) {
  const auto [found, added] = of_kind_.try_emplace(kind);
  if (added) found->second = times_of(core_, survey_, view_, kind);
  return found->second;
}

const AnswerTimes& KnownTimes::like(RequestKind kind, base::Duration waited) {
  const AnswerTimes& known = of(kind);
  if (known.answers() >= lifecycle::answers_min || known.longer_than(waited) > 0) return known;
  if (!of_all_) of_all_ = times_of_all_kinds(core_, view_);
  return *of_all_;
}

}  // namespace ebb::gate
