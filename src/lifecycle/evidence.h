// What one worker's own traffic says about an endpoint, by kinds of requests: a route, a method and the beginning of a
// path. How long an answer may take, and which failures are nothing special, is a matter of the kind. Pure: gate/health
// feeds it, compares endpoints and acts.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/clock.h"
#include "lifecycle/answer_times.h"

namespace ebb::lifecycle {

using RequestKind = std::uint64_t;  // a hash

// Of a client whose requests all come to one endpoint, by its cookie or by a hash: only that endpoint can fail them.
using ClientKey = std::uint64_t;
inline constexpr ClientKey unbound = 0;

// What siblings have answered, to compare with.
struct AnswerCounts {
  std::uint32_t answers = 0;
  std::uint32_t failures = 0;
};

struct KindEvidence {
  RequestKind kind = 0;
  base::Instant used_at{};
  base::Instant asked_latest{};  // of the requests that were answered
  AnswerTimes times;
  AnswerCounts counts{};
  std::uint32_t failures_in_a_row = 0;
  ClientKey first_failed = unbound;  // in that row
  bool others_failed = false;        // those of other clients as well
  AnswerCounts siblings_before{};    // when that row of failures began

  void note_failure(ClientKey key) {
    if (failures_in_a_row == 0) first_failed = key, others_failed = key == unbound;
    others_failed = others_failed || key != first_failed;
    failures_in_a_row += 1;
  }
};

// Given up while nothing at all had come since it was asked: is the endpoint slow, or gone? The next byte tells.
struct GivenUp {
  RequestKind kind = 0;
  base::Instant asked{};
  base::Instant ended{};
};

class Evidence {
 public:
  static constexpr std::size_t kinds_max = 16;
  static constexpr std::size_t unheard_max = 16;
  static constexpr base::Duration unheard_kept = std::chrono::seconds{10};
  static constexpr base::Duration kept = std::chrono::minutes{1};  // a kind that nobody asks for, when others come

  // The first byte of a response, that is not a failure.
  void answered(RequestKind kind, base::Duration taken, base::Instant now) {
    KindEvidence& row = of(kind, now);
    row.times.note(taken);
    row.counts.answers += 1;
    row.failures_in_a_row = 0;
    note_asked(row, now - taken);
  }
  // An answer that says that the endpoint cannot serve (5xx), or a fresh connection broken off instead of an answer. A
  // pooled one that it closes is no failure.
  KindEvidence& failed(RequestKind kind, base::Instant now, ClientKey key = unbound) {
    KindEvidence& row = of(kind, now);
    row.counts.answers += 1;
    row.counts.failures += 1;
    row.note_failure(key);
    return row;
  }
  void failed_after(KindEvidence& row, base::Duration taken, base::Instant now) {
    row.times.note(taken);
    note_asked(row, now - taken);
  }
  // Not to count these, or as answers, would make it look quick.
  void given_up(RequestKind kind, base::Duration waited, base::Instant now) { of(kind, now).times.note_longer(waited); }

  void given_up_unheard(RequestKind kind, base::Instant asked, base::Instant now) {
    if (unheard_.size() == unheard_max) unheard_.erase(unheard_.begin());
    unheard_.push_back({kind, asked, now});
  }
  // Something came then, or it was long ago: they would have taken longer, that is all.
  void settle(base::Instant heard, base::Instant now) {
    const auto over = [&](const GivenUp& each) { return heard >= each.asked || now - each.ended > unheard_kept; };
    for (const GivenUp& each : unheard_)
      if (over(each)) given_up(each.kind, each.ended - each.asked, now);
    std::erase_if(unheard_, over);
  }
  std::span<const GivenUp> given_up_unheard() const { return unheard_; }
  void forget_given_up() { unheard_.clear(); }

  // Null: nothing is known of this kind.
  const KindEvidence* find(RequestKind kind) const {
    for (const KindEvidence& row : rows_)
      if (row.kind == kind) return &row;
    return rows_.size() < kinds_max ? nullptr : &rows_.front();
  }

  // Of all kinds.
  base::Instant asked_latest() const { return asked_latest_; }
  AnswerTimes times() const {
    AnswerTimes sum;
    for (const KindEvidence& row : rows_) sum.add(row.times);
    return sum;
  }

  // It comes back after it was down: how quick it was says nothing any more. A row of failures is remembered, so that
  // one more ends this chance.
  void begin_anew(std::uint32_t failures_max) {
    for (KindEvidence& row : rows_) {
      row.times = {};
      row.failures_in_a_row = std::min(row.failures_in_a_row, failures_max > 0 ? failures_max - 1 : 0);
    }
  }

 private:
  void note_asked(KindEvidence& row, base::Instant asked) {
    row.asked_latest = std::max(row.asked_latest, asked);
    asked_latest_ = std::max(asked_latest_, asked);
  }
  // Those beyond the table share its first row.
  KindEvidence& of(RequestKind kind, base::Instant now) {
    for (KindEvidence& row : rows_)
      if (row.kind == kind) return row.used_at = now, row;
    if (rows_.empty()) rows_.push_back({.kind = 0});
    if (rows_.size() < kinds_max) return rows_.emplace_back(KindEvidence{.kind = kind, .used_at = now});
    const auto oldest = std::min_element(rows_.begin() + 1, rows_.end(),
                                         [](const auto& a, const auto& b) { return a.used_at < b.used_at; });
    if (now - oldest->used_at < kept) return rows_.front();
    return *oldest = KindEvidence{.kind = kind, .used_at = now};
  }

  base::Instant asked_latest_{};  // of the requests that were answered
  std::vector<GivenUp> unheard_;
  std::vector<KindEvidence> rows_;  // the first: of kinds that have none of their own
};

}  // namespace ebb::lifecycle
