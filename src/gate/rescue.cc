#include "gate/rescue.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "gate/bonds.h"
#include "gate/exchanges.h"
#include "gate/h2_backends.h"
#include "gate/health_news.h"
#include "gate/moves.h"
#include "gate/other_endpoints.h"
#include "lifecycle/silence.h"
#include "lifecycle/surprise.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::AnswerTimes;
using lifecycle::Doubt;
using lifecycle::TrialPlan;

namespace {

constexpr base::Duration siblings_interval = std::chrono::seconds{4};
constexpr std::size_t comparable_max = 16;                         // requests that are looked at for a comparison
constexpr base::Duration unproven_max = std::chrono::seconds{10};  // while all siblings let requests wait too
constexpr base::Duration new_kind_max = std::chrono::seconds{15};
constexpr double overdue_chance = 0.05;  // of its kind to take longer

}  // namespace

void Rescue::look() {
  ask_siblings();
  trials_.drop_ended();
  const std::vector<Handle> confirmed = trials_.those(Doubt::confirmed);
  for (const Handle handle : trials_.those(Doubt::doubted)) compare(handle);
  for (const Handle handle : confirmed) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    if (endpoint != nullptr && endpoint->heard <= endpoint->confirmed_at) leave(*endpoint);
  }
}

// Where an endpoint gets nearly all requests its siblings have answered none meanwhile, and it is not doubted for that.
// But one request that waits there is asked elsewhere, so that there is something to compare with.
void Rescue::ask_siblings() {
  const base::Instant now = waiting_.looked_at();
  for (const auto& [handle, kind] : scale_.unasked()) {
    LiveEndpoint* endpoint = core_.endpoints->find(handle);
    if (endpoint == nullptr || endpoint->doubt != Doubt::none) continue;
    if (now < endpoint->siblings_asked + siblings_interval) continue;
    // What they have just been asked will tell as much.
    if (any_other(core_, *endpoint, [this](const LiveEndpoint& other) { return waiting_.asked_lately(other); }))
      continue;
    endpoint->siblings_asked = now;
    move_one(*endpoint, true, kind);
  }
}

// No request comes that it could be tried with: perhaps all clients wait for it. One of theirs that is overdue and can
// be repeated is asked elsewhere. If the answer comes as soon as usual, that is as good as a trial.
void Rescue::compare(Handle handle) {
  const LiveEndpoint* endpoint = core_.endpoints->find(handle);
  if (endpoint == nullptr || waiting_.block_endpoints_like(*endpoint)) return;
  const bool sure = scale_.sure(handle);
  if (trials_.claim_comparison(handle, sure)) move_one(*endpoint, sure);
}

// The last that came: one that handles requests one after another may work on the first, for as long as that takes.
// `sure`: also one that is not overdue for its kind.
void Rescue::move_one(const LiveEndpoint& endpoint, bool sure, std::optional<lifecycle::RequestKind> of) {
  const Handle self = endpoint.self;  // it may leave for good with its last request
  const routes::SilenceModel& limits = core_.endpoints->view(endpoint.view).evidence.silence;
  KnownTimes times(core_, survey_, endpoint.view);
  std::unordered_map<lifecycle::RequestKind, std::optional<TrialPlan>> plans;
  struct Fit {
    base::Instant asked;
    Handle exchange;
    TrialPlan plan;
  };
  std::vector<Fit> fit;
  core_.exchanges->for_each([&](Handle handle, const Exchange& exchange) {
    const Request& request = exchange.request;
    if (exchange.endpoint() != endpoint.self || (of && request.kind != *of)) return;
    // A client that belongs there stays until there is a doubt.
    if (endpoint.doubt == Doubt::none && bound_here(exchange)) return;
    if (exchange.stage() != lifecycle::Stage::awaiting || !request.repeatable() || exchange.tries.left_silence) return;
    const auto [found, added] = plans.try_emplace(request.kind);
    if (added) found->second = lifecycle::plan_trial(times.of(request.kind), limits.trial);
    const base::Duration waited = waiting_.looked_at() - exchange.attempt->asked;
    if (!found->second || waited <= limits.after) return;
    const bool overdue = sure || lifecycle::chance_of_longer(times.of(request.kind), waited, 0) <= overdue_chance;
    if (overdue) fit.push_back({exchange.attempt->asked, handle, *found->second});
  });
  std::ranges::sort(fit, std::ranges::greater{}, &Fit::asked);
  if (fit.size() > comparable_max) fit.resize(comparable_max);
  for (const Fit& each : fit) {
    if (core_.moves->compare(self, each.exchange, each.plan)) return tell(self, 1);
  }
}

// What can be repeated leaves a confirmed silence if it is overdue for its kind. A request that is slow by nature
// stays, and the longer nothing at all comes, the less is taken for slow.
void Rescue::leave(const LiveEndpoint& endpoint) {
  const Handle self = endpoint.self;
  const SilenceFacts silence = silence_of(endpoint);
  if (silence.lasts < unproven_max && !another_may_answer(endpoint, silence.first)) return;
  const base::Duration trial_time = core_.endpoints->view(endpoint.view).evidence.silence.trial;
  KnownTimes times(core_, survey_, endpoint.view);
  const std::uint32_t moved = core_.moves->leave_silent(self, [&](const Exchange& exchange) {
    const base::Duration waited = waiting_.looked_at() - exchange.attempt->asked;
    return waited >= trial_time && !stays(exchange, silence, times);
  });
  tell(self, moved);
}

Rescue::SilenceFacts Rescue::silence_of(const LiveEndpoint& endpoint) const {
  SilenceFacts silence{.lasts = waiting_.looked_at() - endpoint.silent_since,
                       .survived = survived_by(endpoint),
                       .first = first_asked(endpoint.self),
                       .concurrent = endpoint.order.concurrent()};
  silence.chance_to_leave = lifecycle::chance_of_stay(silence.lasts, silence.survived, silence.concurrent);
  return silence;
}

// One that handles requests one after another may work on the first, where its like have come back after such a time or
// some of its kind have taken as long. And what waits behind that one may be slow too, where its kind is new.
bool Rescue::stays(const Exchange& exchange, const SilenceFacts& silence, KnownTimes& times) const {
  const base::Instant asked = exchange.attempt->asked;
  const base::Duration waited = waiting_.looked_at() - asked;
  const bool knows_enough = silence.concurrent || silence.lasts >= new_kind_max;
  const AnswerTimes& known = knows_enough ? times.like(exchange.request.kind, waited) : times.of(exchange.request.kind);
  const bool worked_on = silence.lasts < 2 * silence.survived || lifecycle::known_as_slow(known, waited);
  const bool first_of_serial = !silence.concurrent && asked == silence.first;
  if (first_of_serial && worked_on && silence.lasts < lifecycle::slow_silence_max) return true;
  return lifecycle::chance_of_longer(known, waited, 0) > silence.chance_to_leave;
}

// What waited through the PING and can be repeated leaves, unless later bytes of the endpoint have overtaken it or its
// kind is known to be slow.
void Rescue::leave_connection(const BackendConnection& connection, const LiveEndpoint& endpoint) {
  const base::Instant now = core_.reactor.now();
  const Handle silent = endpoint.self;
  const base::Instant first = first_asked(silent);
  if (now - first < unproven_max && !another_may_answer(endpoint, first)) return;
  const Handle self = connection.self;
  const lifecycle::SilenceLimits limits;
  KnownTimes times(core_, survey_, endpoint.view);
  const std::uint32_t moved = core_.moves->leave_silent(silent, [&](const Exchange& exchange) {
    const Attempt& attempt = *exchange.attempt;
    if (attempt.back->connection_of(attempt.end) != self) return false;
    const base::Duration waited = now - attempt.asked;
    if (waited < limits.before_ping || attempt.asked < endpoint.heard) return false;
    const AnswerTimes& known = times.like(exchange.request.kind, waited);
    return known.answers() < lifecycle::answers_min ||
           lifecycle::chance_of_longer(known, waited, 0) <= lifecycle::trial_chance_max;
  });
  tell(silent, moved);
}

// Where all are silent another one is no better. It is if it has answered what was asked later than what waits here, or
// if it lets nothing wait.
bool Rescue::another_may_answer(const LiveEndpoint& endpoint, base::Instant asked) const {
  if (scale_.compared(endpoint.self) || endpoint.siblings_answer) return true;
  return any_other(core_, endpoint, [&](const LiveEndpoint& sibling) {
    return sibling.evidence.asked_latest() >= asked || !waiting_.owes(sibling.self);
  });
}

base::Duration Rescue::survived_by(const LiveEndpoint& endpoint) const {
  base::Duration longest{};
  for (const Handle handle : core_.endpoints->view(endpoint.view).endpoints) {
    const LiveEndpoint* each = core_.endpoints->find(handle);
    const bool lately = each != nullptr && waiting_.looked_at() < each->survived_until;
    if (lately) longest = std::max(longest, each->survived);
  }
  return longest;
}

base::Instant Rescue::first_asked(Handle endpoint) const {
  base::Instant first = base::Instant::max();
  core_.exchanges->for_each([&](Handle, const Exchange& exchange) {
    if (exchange.endpoint() != endpoint || !exchange.waits_for_answer()) return;
    first = std::min(first, exchange.attempt->asked);
  });
  return first;
}

// An endpoint that had left the list is gone with its last request: no report.
void Rescue::tell(Handle handle, std::uint32_t moved) {
  LiveEndpoint* endpoint = core_.endpoints->find(handle);
  if (moved == 0 || endpoint == nullptr) return;
  endpoint->tally.moved += moved;
  if (!core_.on_relief) return;
  core_.on_relief({.backend = core_.endpoints->view(endpoint->view).name,
                   .endpoint = std::string(core_.labels.text(endpoint->label)),
                   .address = endpoint->address,
                   .moved = moved,
                   .kept = endpoint->clients()});
}

}  // namespace ebb::gate
