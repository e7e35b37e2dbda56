#include "reap/suspicion.h"

#include <algorithm>

namespace ebb::reap {
namespace {

using State = NodeLife::State;
using Event = NodeLife::Event;
using News = Suspicion::News;

std::optional<News> news_of(State before, State after) {
  switch (after) {
    case State::suspected: return News::suspected;
    case State::reported: return before == State::reported ? std::nullopt : std::optional(News::reported);
    case State::excused: return before == State::reported ? News::recovered : News::cleared;
    case State::forgotten: break;
  }
  if (before == State::reported) return News::recovered;
  return before == State::suspected ? std::optional(News::cleared) : std::nullopt;
}

}  // namespace

std::optional<Suspicion::Change> Suspicion::step(base::Instant now, NodeRecord& record, Event event) {
  const State before = record.life.state();
  if (!record.life.step(event)) return std::nullopt;  // an outdated knock's result
  const State after = record.life.state();
  record.knock_at = now + (after == State::excused ? excuse : knock_every);
  if (after == State::suspected) record.suspected_at = record.knock_at = now;
  if (after == State::reported && before != State::reported) ++reported_total_;
  auto news = news_of(before, after);
  if (before == State::reported && event == Event::left) news = News::forgotten;
  if (!news) return std::nullopt;
  return Change{*news, record.evidence.node, record.evidence, now - record.suspected_at};
}

std::optional<Suspicion::Change> Suspicion::see(base::Instant now, NodeRecord& record, const NodeEvidence& evidence) {
  if (evidence.last_answer_ms < base::to_ms(now - record.suspected_at)) return step(now, record, Event::heard);
  if (!evidence.is_silent()) return std::nullopt;
  record.evidence = evidence;
  record.silent_at = now;
  if (record.life.is(State::excused) && now >= record.knock_at) return step(now, record, Event::relapsed);
  return std::nullopt;
}

std::vector<Suspicion::Change> Suspicion::look(base::Instant now, std::span<const NodeEvidence> nodes) {
  std::vector<Change> changes;
  const auto tell = [&changes](std::optional<Change> change) {
    if (change) changes.push_back(std::move(*change));
  };
  for (const NodeEvidence& evidence : nodes) {
    const auto known = records_.find(evidence.node);
    if (known != records_.end()) {
      tell(see(now, known->second, evidence));
    } else if (evidence.is_silent() && records_.size() < nodes_max) {
      records_.emplace(evidence.node,
                       NodeRecord{.evidence = evidence, .suspected_at = now, .silent_at = now, .knock_at = now});
      changes.push_back({News::suspected, evidence.node, evidence, {}});
    } else if (evidence.is_silent()) {
      ++left_out_total_;
    }
  }
  for (auto& [name, record] : records_) {
    // A reported node is kept although programs give up on it; other nodes can be dropped.
    const base::Duration patience = record.life.is(State::reported) ? memory : excuse;
    if (now - record.silent_at >= patience) tell(step(now, record, Event::left));
  }
  std::erase_if(records_, [](const auto& entry) { return entry.second.life.ended(); });
  hurries_ = std::ranges::any_of(nodes, [this](const NodeEvidence& evidence) { return is_undecided(evidence); });
  return changes;
}

bool Suspicion::is_undecided(const NodeEvidence& evidence) const {
  const auto known = records_.find(evidence.node);
  if (known != records_.end()) return known->second.life.is(State::suspected);
  return evidence.may_become_silent() && !evidence.is_silent();  // silent and unknown: left out before
}

std::vector<Suspicion::Knock> Suspicion::take_knocks(base::Instant now) {
  std::vector<Knock> due;
  for (auto& [name, record] : records_) {
    if (record.knocking || now < record.knock_at || record.life.is(State::excused)) continue;
    record.knocking = true;
    // A reported node is back after a single answer.
    due.push_back({record.evidence,
                   {.attempts = record.life.is(State::reported) ? 1 : KnockTimes::proof,
                    .patience = KnockTimes::patience_for(std::chrono::microseconds{record.evidence.round_trip_us})}});
  }
  return due;
}

std::optional<Suspicion::Change> Suspicion::knocked(base::Instant now, const std::string& node, KnockResult result) {
  const auto found = records_.find(node);
  if (found == records_.end()) return std::nullopt;
  NodeRecord& record = found->second;
  record.knocking = false;
  record.knock_at = now + knock_every;
  if (result == KnockResult::inconclusive) return std::nullopt;
  return step(now, record, result == KnockResult::answered ? Event::knock_answered : Event::knock_failed);
}

bool Suspicion::is_reported(const std::string& node) const {
  const auto found = records_.find(node);
  return found != records_.end() && found->second.life.is(State::reported);
}

}  // namespace ebb::reap
