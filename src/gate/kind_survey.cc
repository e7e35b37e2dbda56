#include "gate/kind_survey.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gate/worker.h"

namespace ebb::gate {

using base::Handle;
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

void KindSurvey::ask() {
  if (wanted_.empty()) return;
  const Siblings& siblings = core_.siblings;
  const auto questions = std::make_shared<const std::vector<KindQuestion>>(std::exchange(wanted_, {}));
  for (std::size_t i = 0; i < siblings.count; ++i) {
    if (i == siblings.self) continue;
    siblings.post(i, [questions, asker = siblings.self](Worker& other) { other.health().answer(asker, *questions); });
  }
}

void KindSurvey::take(std::size_t worker, std::vector<KindAnswer> answers) {
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
