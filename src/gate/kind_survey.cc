#include "gate/kind_survey.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "gate/known_times.h"
#include "gate/worker.h"
#include "lifecycle/surprise.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::AnswerTimes;
using lifecycle::KindEvidence;
using lifecycle::RequestKind;

void KindReport::add(const KindReport& other, bool with_waits) {
  times.add(other.times);
  answered = std::max(answered, other.answered);
  if (with_waits) waits.insert(waits.end(), other.waits.begin(), other.waits.end());
  for (const Endpoint& each : other.silent) {
    const auto known = std::ranges::find(silent, each.identity, &Endpoint::identity);
    if (known == silent.end()) {
      silent.push_back(each);
      continue;
    }
    known->times.add(each.times);
    known->heard = std::max(known->heard, each.heard);
  }
}

const KindReport::Endpoint* KindReport::find(std::uint64_t identity) const {
  const auto known = std::ranges::find(silent, identity, &Endpoint::identity);
  return known == silent.end() ? nullptr : &*known;
}

KindSurvey::Row* KindSurvey::row_of(Handle view, RequestKind kind) {
  const auto known = std::ranges::find_if(rows_, [&](const Row& row) { return row.view == view && row.kind == kind; });
  return known == rows_.end() ? nullptr : &*known;
}

// Null: there is no room, all others are wanted too.
KindSurvey::Row* KindSurvey::add_row(Handle view, RequestKind kind) {
  const base::Instant now = core_.reactor.now();
  std::erase_if(rows_, [now](const Row& row) { return now - row.wanted_at > kept; });
  if (rows_.size() == kinds_max) return nullptr;
  return &rows_.emplace_back(Row{.view = view, .kind = kind, .reports{core_.siblings.count}, .sum{}});
}

void KindSurvey::want(KindQuestion question, base::Duration at_most_every) {
  const Siblings& siblings = core_.siblings;
  if (!siblings.post || siblings.count < 2) return;
  const base::Instant now = core_.reactor.now();
  Row* row = row_of(question.view, question.kind);
  const bool asked = row != nullptr && now - row->asked_at < at_most_every;
  if (row == nullptr) row = add_row(question.view, question.kind);
  if (row == nullptr) return;
  row->wanted_at = now;
  if (asked) return;
  row->asked_at = now;
  wanted_.push_back(std::move(question));
}

void KindSurvey::ask_about_waiting() {
  const std::span<const WaitingRequest> all = waiting_.all();
  for (auto first = all.begin(); first != all.end();) {
    const auto last =
        std::find_if(first, all.end(), [&](const WaitingRequest& each) { return !each.same_kind(*first); });
    want({first, last});
    first = last;
  }
  ask();
}

void KindSurvey::want(std::span<const WaitingRequest> kind) {
  const WaitingRequest& one = kind.front();
  KindQuestion question{.view = one.view, .kind = one.kind};
  for (const WaitingRequest& each : kind) {
    if (question.silent.size() == silent_max) break;
    const LiveEndpoint* endpoint = core_.endpoints->find(each.endpoint);
    if (endpoint == nullptr) continue;
    question.backend_of = endpoint->identity;
    if (std::ranges::find(question.silent, endpoint->identity) == question.silent.end())
      question.silent.push_back(endpoint->identity);
  }
  if (question.silent.empty()) return;
  const AnswerTimes here = times_here(core_, one.view, one.kind);
  const base::Duration after = core_.endpoints->view(one.view).evidence.silence.after;
  const bool slow = here.answers() >= lifecycle::answers_min &&
                    lifecycle::chance_of_longer(here, after, 0) > lifecycle::trial_chance_max;
  want(std::move(question), slow ? interval_slow : interval);
}

void KindSurvey::ask() {
  if (wanted_.empty()) return;
  const Siblings& siblings = core_.siblings;
  const auto questions = std::make_shared<const std::vector<KindQuestion>>(std::exchange(wanted_, {}));
  for (std::size_t i = 0; i < siblings.count; ++i) {
    if (i == siblings.self) continue;
    siblings.post(i, [questions, asker = siblings.self](Worker& other) { other.health().answer(asker, *questions); });
  }
}

void KindSurvey::answer(std::size_t asker, std::span<const KindQuestion> questions) const {
  const Siblings& siblings = core_.siblings;
  if (!siblings.post) return;
  std::vector<KindAnswer> answers;
  for (const KindQuestion& each : questions)
    answers.push_back({.view = each.view, .kind = each.kind, .report = report_on(each)});
  siblings.post(asker, [self = siblings.self, answers = std::move(answers)](Worker& worker) mutable {
    worker.health().take(self, std::move(answers));
  });
}

KindReport KindSurvey::report_on(const KindQuestion& question) const {
  KindReport report;
  const LiveEndpoint* any = core_.endpoints->find_identity(question.backend_of);
  if (any == nullptr) return report;
  const BackendView& view = core_.endpoints->view(any->view);
  std::unordered_set<std::uint64_t> owing;
  for (const WaitingRequest& each : waiting_.all()) {
    const bool asked_about = each.view == any->view && each.kind == question.kind;
    const LiveEndpoint* endpoint = asked_about ? core_.endpoints->find(each.endpoint) : nullptr;
    if (endpoint == nullptr || each.waited <= view.evidence.silence.after) continue;
    owing.insert(endpoint->identity);
    if (report.waits.size() < KindReport::waits_max)
      report.waits.push_back({.endpoint = endpoint->identity, .asked = waiting_.looked_at() - each.waited});
  }
  for (const Handle handle : view.endpoints) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    if (endpoint == nullptr) continue;
    const KindEvidence* known = endpoint->evidence.find(question.kind);
    if (known != nullptr) report.times.add(known->times);
    if (std::ranges::find(question.silent, endpoint->identity) != question.silent.end()) {
      report.silent.push_back({.identity = endpoint->identity,
                               .times = known == nullptr ? AnswerTimes{} : known->times,
                               .heard = endpoint->heard,
                               .concurrent = endpoint->order.concurrent()});
    } else if (known != nullptr && !owing.contains(endpoint->identity)) {
      report.answered = std::max(report.answered, known->asked_latest);
    }
  }
  return report;
}

void KindSurvey::take(std::size_t worker, std::vector<KindAnswer> answers) {
  for (const KindAnswer& answer : answers) {
    for (const KindReport::Endpoint& each : answer.report.silent) {
      LiveEndpoint* endpoint = each.concurrent ? core_.endpoints->find_identity(each.identity) : nullptr;
      if (endpoint != nullptr) endpoint->order.told();
    }
  }
  for (KindAnswer& answer : answers) {
    Row* row = row_of(answer.view, answer.kind);
    if (row == nullptr || worker >= row->reports.size()) continue;
    row->reports[worker] = {std::move(answer.report), core_.reactor.now()};
    row->changed = true;
  }
}

// What was said a while ago is no news any more: requests that waited then may have been answered.
void KindSurvey::sum_up(Row& row) const {
  const base::Instant now = core_.reactor.now();
  row.sum = {};
  row.answered = false;
  for (const Report& each : row.reports) {
    if (each.at == base::Instant{} || now - each.at > kept) continue;
    row.sum.add(each.report, now - each.at <= waits_kept);
    row.answered = true;
  }
  row.summed_at = now;
  row.changed = false;
}

const KindReport* KindSurvey::find(Handle view, RequestKind kind) {
  Row* row = row_of(view, kind);
  if (row == nullptr) return nullptr;
  if (row->changed || row->summed_at != core_.reactor.now()) sum_up(*row);
  return row->answered ? &row->sum : nullptr;
}

}  // namespace ebb::gate
