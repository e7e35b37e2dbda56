#include "gate/trials.h"

#include <algorithm>
#include <utility>

#include "gate/known_times.h"
#include "gate/other_endpoints.h"
#include "gate/witnesses.h"
#include "lifecycle/silence.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::AnswerTimes;
using lifecycle::Doubt;
using lifecycle::TrialPlan;

namespace {

constexpr base::Duration interval = std::chrono::seconds{1};          // once it is confirmed
constexpr base::Duration interval_unheard = std::chrono::seconds{4};  // while several are still awaited
constexpr std::uint32_t unheard_min = Witnesses::per_endpoint_max / 2;
constexpr base::Duration first_wait = std::chrono::milliseconds{150};  // for a request to try it with
constexpr std::size_t trials_max = 4;                                  // at a time, before
// What trials must come to together.
constexpr double surprise_wanted = lifecycle::Verdict::confirms - lifecycle::Verdict::doubts;
constexpr base::Duration untried_max = std::chrono::seconds{8};  // then one request is compared, if it is overdue
constexpr base::Duration remembered = std::chrono::minutes{10};  // a silence that ended by an answer

}  // namespace

void Trials::forget(LiveEndpoint& endpoint) {
  endpoint.doubt = Doubt::none;
  std::erase_if(doubted_, [&](const Doubted& doubted) { return doubted.endpoint == endpoint.self; });
}

void Trials::follow(LiveEndpoint& endpoint, const HealthNews& news) {
  const Doubt doubt = news.doubt;
  const Doubt before = std::exchange(endpoint.doubt, doubt);
  endpoint.siblings_answer = news.siblings_answer;
  if (before == doubt) return;
  const base::Instant now = core_.reactor.now();
  const base::Duration after = core_.endpoints->view(endpoint.view).evidence.silence.after;
  if (before == Doubt::none) {
    endpoint.silent_since = std::max(endpoint.heard, now - after);
    doubted_.push_back(
        {.endpoint = endpoint.self, .since = now, .next = now, .compare_at = now + first_wait, .until = {}});
  }
  if (doubt == Doubt::confirmed) {
    endpoint.confirmed_at = now;
    endpoint.evidence.forget_given_up();
  }
  if (doubt != Doubt::none) return;
  forget(endpoint);
  // Some worker has heard it, or nothing could be found out: what has waited until now says nothing about what comes.
  endpoint.heard = std::max(endpoint.heard, now);
  // Only by an answer: what was restarted in between has not survived its silence.
  if (before == Doubt::confirmed && news.heard) remember_survival(endpoint);
}

void Trials::remember_survival(LiveEndpoint& endpoint) const {
  const base::Instant now = core_.reactor.now();
  const base::Duration silence = now - endpoint.silent_since;
  endpoint.survived = now < endpoint.survived_until ? std::max(endpoint.survived, silence) : silence;
  endpoint.survived_until = now + remembered;
}

void Trials::report_heard() {
  for (const Doubted& doubted : doubted_) {
    const LiveEndpoint* endpoint = core_.endpoints->find(doubted.endpoint);
    if (endpoint != nullptr && endpoint->heard > endpoint->silent_since)
      findings_.report({endpoint->identity, Finding::Kind::heard});
  }
}

void Trials::drop_ended() {
  std::erase_if(doubted_,
                [this](const Doubted& doubted) { return core_.endpoints->find(doubted.endpoint) == nullptr; });
}

std::optional<TrialPlan> Trials::plan(const LiveEndpoint& endpoint, lifecycle::RequestKind kind) {
  const AnswerTimes known = times_of(core_, survey_, endpoint.view, kind);
  if (known.answers() < lifecycle::answers_min) {
    survey_.want({.view = endpoint.view, .backend_of = endpoint.identity, .kind = kind, .silent = {endpoint.identity}},
                 KindSurvey::interval);
    survey_.ask();
  }
  return lifecycle::plan_trial(known, core_.endpoints->view(endpoint.view).evidence.silence.trial);
}

std::optional<Trials::Offer> Trials::offer(Handle view, lifecycle::RequestKind kind) {
  if (doubted_.empty()) return {};
  std::optional<std::optional<TrialPlan>> planned;  // the same for all of them
  for (Doubted& doubted : doubted_) {
    LiveEndpoint* endpoint = core_.endpoints->find(doubted.endpoint);
    if (endpoint == nullptr || endpoint->view != view || !may_try(*endpoint)) continue;
    if (!wants_trial(doubted, *endpoint)) continue;
    if (!planned) planned = plan(*endpoint, kind);
    if (!*planned) return {};
    if (!begin(doubted, *endpoint, **planned)) continue;
    endpoint->tally.trials += 1;
    return Offer{doubted.endpoint, **planned};
  }
  return {};
}

bool Trials::may_try(const LiveEndpoint& endpoint) const {
  if (endpoint.draining()) return false;
  // No new work, or no trials, said the operator.
  if (endpoint.weight == 0 || !core_.endpoints->view(endpoint.view).evidence.silence.on) return false;
  if (endpoint.health == lifecycle::Health::down) return false;  // checks or probes ask it
  if (endpoint.standing() == lifecycle::Standing::unavailable || !core_.endpoints->has_room(endpoint)) return false;
  return !waiting_.block_endpoints_like(endpoint);
}

bool Trials::wants_trial(Doubted& doubted, const LiveEndpoint& endpoint) const {
  const base::Instant now = core_.reactor.now();
  if (now < doubted.next) return false;
  doubted.drop_over(now);
  return endpoint.doubt == Doubt::confirmed || doubted.until.size() < trials_max;
}

// Before it is confirmed as many as decide it, if none of them is answered; then one now and then, to see it come back.
bool Trials::begin(Doubted& doubted, const LiveEndpoint& endpoint, const TrialPlan& plan) const {
  const base::Instant now = core_.reactor.now();
  if (endpoint.doubt == Doubt::confirmed) {
    const bool unheard = endpoint.witnesses >= unheard_min;
    doubted.next = now + (unheard ? interval_unheard : interval);
    return true;
  }
  const auto enough = static_cast<std::size_t>(surprise_wanted / plan.surprise) + 1;
  if (doubted.until.size() >= std::min(enough, trials_max)) return false;
  doubted.until.push_back(now + plan.time);
  return true;
}

bool Trials::others_answer(Handle handle, base::Instant asked) const {
  const LiveEndpoint* endpoint = core_.endpoints->find(handle);
  return endpoint != nullptr && any_other(core_, *endpoint, [asked](const LiveEndpoint& sibling) {
           return sibling.evidence.asked_latest() >= asked;
         });
}

void Trials::failed(Handle handle, const TrialPlan& plan) {
  LiveEndpoint* endpoint = core_.endpoints->find(handle);
  if (endpoint == nullptr) return;  // a request that was compared may outlive it
  endpoint->tally.trials_failed += 1;
  findings_.report({.identity = endpoint->identity, .kind = Finding::Kind::trial_failed, .surprise = plan.surprise});
}

// Requests on other connections may have been answered meanwhile.
void Trials::ping_unanswered(const LiveEndpoint& endpoint) {
  if (core_.reactor.now() - endpoint.heard < lifecycle::SilenceLimits{}.to_answer) return;
  findings_.report({.identity = endpoint.identity, .kind = Finding::Kind::ping_unanswered});
}

std::vector<Handle> Trials::those(Doubt doubt) const {
  std::vector<Handle> found;
  for (const Doubted& doubted : doubted_) {
    const LiveEndpoint* endpoint = core_.endpoints->find(doubted.endpoint);
    if (endpoint == nullptr || endpoint->doubt != doubt) continue;
    if (core_.endpoints->view(endpoint->view).evidence.silence.on) found.push_back(doubted.endpoint);
  }
  return found;
}

bool Trials::claim_comparison(Handle endpoint, bool sure) {
  const base::Instant now = core_.reactor.now();
  const auto known = std::ranges::find(doubted_, endpoint, &Doubted::endpoint);
  if (known == doubted_.end()) return false;
  known->drop_over(now);
  if (now < known->compare_at || !known->until.empty()) return false;
  // No trial may come where it drains, or where what waits there is all that it may have.
  if (!sure && now - known->since < untried_max) return false;
  known->compare_at = now + interval;
  return true;
}

}  // namespace ebb::gate
