#include "gate/kind_survey.h"

#include <algorithm>

#include "gate/worker.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::RequestKind;

void KindReport::add(const KindReport& other) {
  times.add(other.times);
  answered = std::max(answered, other.answered);
  waits.insert(waits.end(), other.waits.begin(), other.waits.end());
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

void KindSurvey::want(Handle view, const KindQuestion& question) {
  const Siblings& siblings = core_.siblings;
  if (!siblings.post || siblings.count < 2) return;
  const base::Instant now = core_.reactor.now();
  Row* row = row_of(view, question.kind);
  const bool asked = row != nullptr && now - row->asked_at < interval;
  if (row == nullptr) row = add_row(view, question.kind);
  if (row == nullptr) return;
  row->wanted_at = now;
  if (asked) return;
  row->asked_at = now;
  for (std::size_t i = 0; i < siblings.count; ++i) {
    if (i == siblings.self) continue;
    siblings.post(
        i, [view, question, asker = siblings.self](Worker& other) { other.health().answer(asker, view, question); });
  }
}

void KindSurvey::take(Handle view, RequestKind kind, std::size_t worker, KindReport report) {
  Row* row = row_of(view, kind);
  if (row == nullptr || worker >= row->reports.size()) return;
  row->reports[worker] = std::move(report);
  row->answered = true;
  row->sum = {};
  for (const KindReport& each : row->reports) row->sum.add(each);
}

const KindReport* KindSurvey::find(Handle view, RequestKind kind) const {
  const auto known = std::ranges::find_if(rows_, [&](const Row& row) { return row.view == view && row.kind == kind; });
  return known == rows_.end() || !known->answered ? nullptr : &known->sum;
}

}  // namespace ebb::gate
