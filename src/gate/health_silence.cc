// Requests that an endpoint does not answer, while its siblings answer the same kind. Slow is not dead
// (docs/decisions/0013-slow-is-not-dead.md), so there are two steps:
//
//   doubted     it would be surprising of a healthy endpoint: no new work, but for trials
//   confirmed   a trial was not answered either: requests that can be repeated leave, if they are overdue for their
//   kind
//
// Nothing else ever follows from silence.
//
// Before: gate/health_looks (look). Next: gate/health (judge), gate/moves.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "gate/bonds.h"
#include "gate/exchanges.h"
#include "gate/h2_backends.h"
#include "gate/health.h"
#include "gate/moves.h"
#include "gate/witnesses.h"
#include "gate/worker.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::AnswerTimes;
using lifecycle::Doubt;
using lifecycle::KindEvidence;
using lifecycle::TrialPlan;

namespace {

constexpr double worth_a_trial = 1.5;     // one in thirty: to ask whether it answers costs next to nothing
constexpr double worth_it_at_last = 1;    // one in ten, where more is not known and time has passed
constexpr double surely_doubtful = 3;     // one in a thousand
constexpr std::uint32_t waiting_min = 2;  // one request alone never moves without a trial
constexpr base::Duration trial_interval = std::chrono::seconds{1};          // once it is confirmed
constexpr base::Duration trial_interval_unheard = std::chrono::seconds{4};  // while several are still awaited
constexpr std::uint32_t unheard_min = Witnesses::per_endpoint_max / 2;
constexpr base::Duration siblings_interval = std::chrono::seconds{4};
constexpr std::uint32_t slow_elsewhere_max = 2;  // one alone would hide a frozen endpoint that is not known well
constexpr base::Duration trial_wait = std::chrono::milliseconds{150};  // for a request to try it with
constexpr std::size_t trials_max = 4;                                  // at a time, before
constexpr std::size_t comparable_max = 16;                             // requests that are looked at for a comparison
constexpr double trials_surprise = lifecycle::Verdict::confirms - worth_a_trial;  // that they must come to together
constexpr base::Duration unproven_max = std::chrono::seconds{10};  // while all siblings let requests wait too
constexpr base::Duration new_kind_max = std::chrono::seconds{15};
constexpr base::Duration untried_max = std::chrono::seconds{8};  // then one request is compared, if it is overdue:
constexpr double overdue_chance = 0.05;                          // of its kind to take longer
constexpr base::Duration remembered = std::chrono::minutes{10};  // a silence that ended by an answer

}  // namespace

// Of one backend, while its requests are gone through. A kind of which little is known is taken for one like the
// others, unless some of it have taken as long.
class HealthWatch::KnownTimes {
 public:
  KnownTimes(HealthWatch& health, Handle view) : health_(health), view_(view) {}
  const AnswerTimes& of(lifecycle::RequestKind kind) {
    const auto [found, added] = of_kind_.try_emplace(kind);
    if (added) found->second = health_.times_of(view_, kind);
    return found->second;
  }
  const AnswerTimes& like(lifecycle::RequestKind kind, base::Duration waited) {
    const AnswerTimes& known = of(kind);
    if (known.answers() >= lifecycle::answers_min || known.longer_than(waited) > 0) return known;
    if (!of_all_) of_all_ = health_.times_of_all_kinds(view_);
    return *of_all_;
  }

 private:
  HealthWatch& health_;
  Handle view_;
  std::unordered_map<lifecycle::RequestKind, AnswerTimes> of_kind_;
  std::optional<AnswerTimes> of_all_;
};

void HealthWatch::forget_waiting() {
  waiting_.clear();
  asked_lately_.clear();
  slow_elsewhere_.clear();
}

void HealthWatch::find_waiting() {
  forget_waiting();
  core_.exchanges->for_each([&](Handle, const Exchange& exchange) {
    if (!exchange.waits_for_answer()) return;
    const Attempt& attempt = *exchange.attempt;
    LiveEndpoint* endpoint = core_.endpoints->find(attempt.endpoint);
    if (endpoint == nullptr) return;
    endpoint->order.waits(attempt.place);
    if (exchange.front == core_.witnesses) return;  // that it waits is what it told
    const routes::SilenceModel& limits = core_.endpoints->view(endpoint->view).evidence.silence;
    const base::Duration waited = looked_at_ - attempt.asked;
    if (waited <= limits.after) asked_lately_.insert(endpoint->self.slot);
    const bool slow_itself = exchange.tries.left_silence && waited > limits.trial;
    if (slow_itself && !endpoint->order.concurrent()) slow_elsewhere_[endpoint->view.slot] += 1;
    if (!limits.on || waited <= limits.after / 2) return;
    waiting_.push_back(
        {endpoint->view, attempt.endpoint, exchange.request.kind, waited, attempt.asked < endpoint->heard});
  });
  for (const Handle handle : given_up_at_) {
    LiveEndpoint* endpoint = core_.endpoints->find(handle);
    if (endpoint == nullptr) continue;
    endpoint->evidence.settle(endpoint->heard, looked_at_);
    const routes::SilenceModel& limits = core_.endpoints->view(endpoint->view).evidence.silence;
    for (const lifecycle::GivenUp& request : endpoint->evidence.given_up_unheard()) {
      const base::Duration waited = looked_at_ - request.asked;
      if (limits.on && waited > limits.after / 2)
        waiting_.push_back({endpoint->view, handle, request.kind, waited, false});
    }
  }
  std::erase_if(given_up_at_, [this](Handle handle) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    return endpoint == nullptr || endpoint->evidence.given_up_unheard().empty();
  });
  std::ranges::sort(waiting_, [](const Waiting& a, const Waiting& b) { return a.before(b); });
}

// It would have taken longer: that is known of it, and must not be lost. But where nothing at all has come since it was
// asked, it may be that nothing will: until something does, the request counts as one that waits. Of an endpoint that
// is doubted nothing is learned: it would look slow for having been dead.
void HealthWatch::given_up(LiveEndpoint& endpoint, lifecycle::RequestKind kind, base::Instant asked) {
  if (endpoint.doubt != Doubt::none) return;
  const base::Instant now = core_.reactor.now();
  if (endpoint.heard >= asked) return endpoint.evidence.given_up(kind, now - asked, now);
  endpoint.evidence.given_up_unheard(kind, asked, now);
  if (std::ranges::find(given_up_at_, endpoint.self) == given_up_at_.end()) given_up_at_.push_back(endpoint.self);
}

// Earlier than anything is concluded, so that their answers are there then.
void HealthWatch::ask_workers() {
  for (auto first = waiting_.begin(); first != waiting_.end();) {
    KindQuestion question{.view = first->view, .kind = first->kind};
    auto last = first;
    for (; last != waiting_.end() && last->same_kind(*first); ++last) {
      if (question.silent.size() == KindSurvey::silent_max) continue;
      const LiveEndpoint* endpoint = core_.endpoints->find(last->endpoint);
      if (endpoint == nullptr) continue;
      question.backend_of = endpoint->identity;
      if (std::ranges::find(question.silent, endpoint->identity) == question.silent.end())
        question.silent.push_back(endpoint->identity);
    }
    if (!question.silent.empty()) {
      const AnswerTimes here = times_here(first->view, first->kind);
      const base::Duration after = core_.endpoints->view(first->view).evidence.silence.after;
      const bool slow = here.answers() >= lifecycle::answers_min &&
                        lifecycle::chance_of_longer(here, after, 0) > lifecycle::trial_chance_max;
      survey_.want(std::move(question), slow ? KindSurvey::interval_slow : KindSurvey::interval);
    }
    first = last;
  }
  survey_.ask();
}

void HealthWatch::answer(std::size_t asker, std::span<const KindQuestion> questions) {
  const Siblings& siblings = core_.siblings;
  if (!siblings.post) return;
  std::vector<KindAnswer> answers;
  for (const KindQuestion& each : questions)
    answers.push_back({.view = each.view, .kind = each.kind, .report = report_on(each)});
  siblings.post(asker, [self = siblings.self, answers = std::move(answers)](Worker& worker) mutable {
    worker.health().take(self, std::move(answers));
  });
}

void HealthWatch::take(std::size_t worker, std::vector<KindAnswer> answers) {
  for (const KindAnswer& answer : answers) {
    for (const KindReport::Endpoint& each : answer.report.silent) {
      LiveEndpoint* endpoint = each.concurrent ? core_.endpoints->find_identity(each.identity) : nullptr;
      if (endpoint != nullptr) endpoint->order.told();
    }
  }
  survey_.take(worker, std::move(answers));
}

KindReport HealthWatch::report_on(const KindQuestion& question) const {
  KindReport report;
  const LiveEndpoint* any = core_.endpoints->find_identity(question.backend_of);
  if (any == nullptr) return report;
  const BackendView& view = core_.endpoints->view(any->view);
  std::unordered_set<std::uint64_t> owing;
  for (const Waiting& each : waiting_) {
    const bool asked_about = each.view == any->view && each.kind == question.kind;
    const LiveEndpoint* endpoint = asked_about ? core_.endpoints->find(each.endpoint) : nullptr;
    if (endpoint == nullptr || each.waited <= view.evidence.silence.after) continue;
    owing.insert(endpoint->identity);
    if (report.waits.size() < KindReport::waits_max)
      report.waits.push_back({.endpoint = endpoint->identity, .asked = looked_at_ - each.waited});
  }
  for (const Handle handle : view.endpoints) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    const KindEvidence* known = endpoint == nullptr ? nullptr : endpoint->evidence.find(question.kind);
    if (known != nullptr) report.times.add(known->times);
    if (endpoint != nullptr && std::ranges::find(question.silent, endpoint->identity) != question.silent.end()) {
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

void HealthWatch::look_for_silent() {
  core_.exchanges->for_each([&](Handle, const Exchange& exchange) {
    LiveEndpoint* endpoint = core_.endpoints->find(exchange.endpoint());
    if (endpoint != nullptr) endpoint->heard = std::max(endpoint->heard, exchange.attempt->heard);
  });
  for (const Trials& trials : trials_) {
    const LiveEndpoint* endpoint = core_.endpoints->find(trials.endpoint);
    if (endpoint != nullptr && endpoint->heard > endpoint->silent_since)
      report({endpoint->identity, Finding::Kind::heard});
  }
  doubted_.clear();
  unasked_.clear();
  find_waiting();
  ask_workers();
  for (auto first = waiting_.cbegin(); first != waiting_.cend();) {
    const auto last =
        std::find_if(first, waiting_.cend(), [&](const Waiting& each) { return !each.same_kind(*first); });
    weigh_kind(on_all_workers({first, last}));
    first = last;
  }
  for (const auto& [slot, each] : doubted_) {
    const bool long_waits = each.longest >= lifecycle::cold_patience;
    if (each.surprise < (long_waits ? worth_it_at_last : worth_a_trial)) continue;
    const LiveEndpoint* endpoint = core_.endpoints->find(each.endpoint);
    if (endpoint == nullptr) continue;
    report({.identity = endpoint->identity, .kind = Finding::Kind::silent, .surprise = each.surprise});
  }
  ask_siblings();
}

// Of those that wait for too long, here and on the workers that have said so; the longest waits first.
std::vector<HealthWatch::Waiting> HealthWatch::on_all_workers(std::span<const Waiting> here) {
  const Waiting& first = here.front();
  const base::Duration after = core_.endpoints->view(first.view).evidence.silence.after;
  std::vector<Waiting> all(here.begin(), here.end());
  const KindReport* others = survey_.find(first.view, first.kind);
  if (others != nullptr) {
    for (Waiting& each : all) {
      const LiveEndpoint* endpoint = core_.endpoints->find(each.endpoint);
      const KindReport::Endpoint* there = endpoint == nullptr ? nullptr : others->find(endpoint->identity);
      each.overtaken = each.overtaken || (there != nullptr && looked_at_ - each.waited < there->heard);
    }
    for (const KindReport::Wait& wait : others->waits) {
      const LiveEndpoint* endpoint = core_.endpoints->find_identity(wait.endpoint);
      if (endpoint != nullptr && endpoint->view == first.view)
        all.push_back({first.view, endpoint->self, first.kind, looked_at_ - wait.asked, wait.asked < endpoint->heard});
    }
    std::ranges::sort(all, [](const Waiting& a, const Waiting& b) { return a.before(b); });
  }
  std::erase_if(all, [after](const Waiting& each) { return each.waited <= after; });
  return all;
}

// Requests of one kind, at all endpoints of one backend, the longest waits first. Each is counted before the next is
// asked about (lifecycle/surprise.h).
void HealthWatch::weigh_kind(std::span<const Waiting> kind) {
  if (kind.empty()) return;
  const BackendView& view = core_.endpoints->view(kind.front().view);
  const KindReport* others = survey_.find(kind.front().view, kind.front().kind);
  const AnswerTimes all = times_of(kind.front().view, kind.front().kind);
  const base::Instant answered = answered_elsewhere(view, kind);
  struct Weight {
    bool quiet = false;
    AnswerTimes own;
    std::uint32_t late = 0;  // requests there
  };
  std::unordered_map<std::uint32_t, Weight> weights;    // by the endpoint's slot
  std::unordered_map<std::uint32_t, Doubted> unproven;  // the same; no sibling has answered meanwhile
  std::uint32_t late = 0;
  for (const Waiting& each : kind) {
    const auto [found, added] = weights.try_emplace(each.endpoint.slot);
    Weight& weight = found->second;
    const LiveEndpoint* endpoint = core_.endpoints->find(each.endpoint);
    if (added && endpoint != nullptr) {
      base::Instant heard = endpoint->heard;
      if (const KindEvidence* known = endpoint->evidence.find(each.kind); known != nullptr) weight.own = known->times;
      const KindReport::Endpoint* there = others == nullptr ? nullptr : others->find(endpoint->identity);
      if (there != nullptr) {
        weight.own.add(there->times);
        heard = std::max(heard, there->heard);
      }
      weight.quiet = looked_at_ - heard > view.evidence.silence.after;
    }
    if (weight.quiet && !each.overtaken) {
      Doubted& doubted = (overdue(each, answered) ? doubted_ : unproven)[each.endpoint.slot];
      doubted.endpoint = each.endpoint;
      doubted.requests += 1;
      doubted.longest = std::max(doubted.longest, each.waited);
      doubted.surprise += lifecycle::surprise_of_wait(each.waited, weight.own, weight.late, all, late);
    }
    late += 1;
    weight.late += 1;
  }
  // Where requests of the kind wait at siblings too, all may be slow.
  if (unproven.size() != 1) return;
  const Doubted& only = unproven.begin()->second;
  if (only.requests >= waiting_min && only.surprise >= surely_doubtful)
    unasked_.emplace_back(only.endpoint, kind.front().kind);
}

// Requests that one round of the loop has read are asked at the same instant: an answer to one of them counts for all.
bool HealthWatch::overdue(const Waiting& each, base::Instant answered) const {
  return !each.overtaken && looked_at_ - each.waited <= answered;
}

// Siblings that owe no answer of this kind have answered requests that were asked up to then. Where all are slow, they
// have not answered what was asked as late as what waits here.
base::Instant HealthWatch::answered_elsewhere(const BackendView& view, std::span<const Waiting> kind) {
  const KindReport* others = survey_.find(kind.front().view, kind.front().kind);
  bool asked_about_all = others != nullptr;
  std::vector<std::uint32_t> owing;
  for (const Waiting& each : kind) {
    if (each.overtaken) continue;
    owing.push_back(each.endpoint.slot);
    const LiveEndpoint* endpoint = core_.endpoints->find(each.endpoint);
    asked_about_all = asked_about_all && endpoint != nullptr && others->find(endpoint->identity) != nullptr;
  }
  std::ranges::sort(owing);
  base::Instant last = asked_about_all ? others->answered : base::Instant{};
  for (const Handle handle : view.endpoints) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    const KindEvidence* known = endpoint == nullptr ? nullptr : endpoint->evidence.find(kind.front().kind);
    if (known != nullptr && !std::ranges::binary_search(owing, handle.slot)) last = std::max(last, known->asked_latest);
  }
  return last;
}

AnswerTimes HealthWatch::times_here(Handle view, lifecycle::RequestKind kind) const {
  AnswerTimes sum;
  for (const Handle handle : core_.endpoints->view(view).endpoints) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    const KindEvidence* known = endpoint == nullptr ? nullptr : endpoint->evidence.find(kind);
    if (known != nullptr) sum.add(known->times);
  }
  return sum;
}

AnswerTimes HealthWatch::times_of_all_kinds(Handle view) const {
  AnswerTimes sum;
  for (const Handle handle : core_.endpoints->view(view).endpoints) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    if (endpoint != nullptr) sum.add(endpoint->evidence.times());
  }
  return sum;
}

AnswerTimes HealthWatch::times_of(Handle view, lifecycle::RequestKind kind) {
  AnswerTimes sum = times_here(view, kind);
  if (const KindReport* others = survey_.find(view, kind); others != nullptr) sum.add(others->times);
  return sum;
}

void HealthWatch::forget_doubt(LiveEndpoint& endpoint) {
  endpoint.doubt = Doubt::none;
  std::erase_if(trials_, [&](const Trials& trials) { return trials.endpoint == endpoint.self; });
}

void HealthWatch::follow_doubt(LiveEndpoint& endpoint, const HealthNews& news) {
  const Doubt doubt = news.doubt;
  const Doubt before = std::exchange(endpoint.doubt, doubt);
  endpoint.siblings_answer = news.siblings_answer;
  if (before == doubt) return;
  const base::Instant now = core_.reactor.now();
  const base::Duration after = core_.endpoints->view(endpoint.view).evidence.silence.after;
  if (before == Doubt::none) endpoint.silent_since = std::max(endpoint.heard, now - after);
  if (doubt == Doubt::confirmed) {
    endpoint.confirmed_at = now;
    endpoint.evidence.forget_given_up();
  }
  if (before == Doubt::none)
    trials_.push_back(
        {.endpoint = endpoint.self, .since = now, .next = now, .compare_at = now + trial_wait, .until = {}});
  if (doubt != Doubt::none) return;
  forget_doubt(endpoint);
  // Some worker has heard it, or nothing could be found out: what has waited until now says nothing about what comes.
  endpoint.heard = std::max(endpoint.heard, now);
  // Only by an answer: what was restarted in between has not survived its silence.
  if (before != Doubt::confirmed || !news.heard) return;
  const base::Duration silence = now - endpoint.silent_since;
  endpoint.survived = now < endpoint.survived_until ? std::max(endpoint.survived, silence) : silence;
  endpoint.survived_until = now + remembered;
}

std::optional<TrialPlan> HealthWatch::plan_trial(const LiveEndpoint& endpoint, lifecycle::RequestKind kind) {
  const AnswerTimes known = times_of(endpoint.view, kind);
  if (known.answers() < lifecycle::answers_min) {
    survey_.want({.view = endpoint.view, .backend_of = endpoint.identity, .kind = kind, .silent = {endpoint.identity}},
                 KindSurvey::interval);
    survey_.ask();
  }
  return lifecycle::plan_trial(known, core_.endpoints->view(endpoint.view).evidence.silence.trial);
}

// Before it is confirmed as many as decide it, if none of them is answered; then one now and then, to see it come back.
std::optional<HealthWatch::Trial> HealthWatch::trial(Handle view_handle, lifecycle::RequestKind kind) {
  if (trials_.empty()) return {};
  const base::Instant now = core_.reactor.now();
  const BackendView& view = core_.endpoints->view(view_handle);
  std::optional<std::optional<TrialPlan>> planned;  // the same for all of them
  for (Trials& trials : trials_) {
    LiveEndpoint* endpoint = core_.endpoints->find(trials.endpoint);
    if (endpoint == nullptr || endpoint->view != view_handle || endpoint->draining() || now < trials.next) continue;
    if (endpoint->weight == 0 || !view.evidence.silence.on) continue;  // no new work, or no trials, said the operator
    if (endpoint->health == lifecycle::Health::down) continue;         // checks or probes ask it
    if (endpoint->standing() == lifecycle::Standing::unavailable || !core_.endpoints->has_room(*endpoint)) continue;
    if (requests_are_slow(*endpoint)) continue;
    const bool decided = endpoint->doubt == Doubt::confirmed;
    std::erase_if(trials.until, [now](base::Instant until) { return until <= now; });
    if (!decided && trials.until.size() >= trials_max) continue;
    if (!planned) planned = plan_trial(*endpoint, kind);
    const std::optional<TrialPlan>& plan = *planned;
    if (!plan) return {};
    if (decided) {
      const bool unheard = endpoint->witnesses >= unheard_min;
      trials.next = now + (unheard ? trial_interval_unheard : trial_interval);
    } else {
      const auto enough = static_cast<std::size_t>(trials_surprise / plan->surprise) + 1;
      if (trials.until.size() >= std::min(enough, trials_max)) continue;
      trials.until.push_back(now + plan->time);
    }
    endpoint->tally.trials += 1;
    return Trial{trials.endpoint, *plan};
  }
  return {};
}

template <class Predicate>
bool HealthWatch::any_sibling(const LiveEndpoint& endpoint, Predicate predicate) const {
  const BackendView& view = core_.endpoints->view(endpoint.view);
  return std::ranges::any_of(view.endpoints, [&](Handle handle) {
    const LiveEndpoint* sibling = core_.endpoints->find(handle);
    return sibling != nullptr && sibling != &endpoint && predicate(*sibling);
  });
}

bool HealthWatch::others_answer(Handle handle, base::Instant asked) const {
  const LiveEndpoint* endpoint = core_.endpoints->find(handle);
  return endpoint != nullptr && any_sibling(*endpoint, [asked](const LiveEndpoint& sibling) {
           return sibling.evidence.asked_latest() >= asked;
         });
}

void HealthWatch::trial_failed(Handle handle, const TrialPlan& plan) {
  LiveEndpoint* endpoint = core_.endpoints->find(handle);
  if (endpoint == nullptr) return;  // a request that was compared may outlive it
  endpoint->tally.trials_failed += 1;
  report({.identity = endpoint->identity, .kind = Finding::Kind::trial_failed, .surprise = plan.surprise});
}

// A PING is a test in the endpoint's own protocol: it is doubted, unless requests on other connections were answered
// meanwhile. What waited through it on that connection and can be repeated leaves, unless later bytes of the endpoint
// have overtaken it or its kind is known to be slow.
void HealthWatch::ping_unanswered(const BackendConnection& connection, bool hangs) {
  EBB_FIND(endpoint, core_.endpoints->find(connection.endpoint));
  const base::Instant now = core_.reactor.now();
  const lifecycle::SilenceLimits limits;
  if (hangs && now - endpoint.heard >= limits.to_answer)
    report({.identity = endpoint.identity, .kind = Finding::Kind::ping_unanswered});
  const base::Instant first = first_asked(endpoint.self);
  if (now - first < unproven_max && !another_may_answer(endpoint, first)) return;
  const Handle self = connection.self;
  KnownTimes times(*this, endpoint.view);
  const std::uint32_t moved = core_.moves->leave_silent(endpoint.self, [&](const Exchange& exchange) {
    const Attempt& attempt = *exchange.attempt;
    if (attempt.back->connection_of(attempt.end) != self) return false;
    const base::Duration waited = now - attempt.asked;
    if (waited < limits.before_ping || attempt.asked < endpoint.heard) return false;
    const AnswerTimes& known = times.like(exchange.request.kind, waited);
    return known.answers() < lifecycle::answers_min ||
           lifecycle::chance_of_longer(known, waited, 0) <= lifecycle::trial_chance_max;
  });
  relieved(connection.endpoint, moved);
}

void HealthWatch::relieve() {
  std::erase_if(trials_, [this](const Trials& trials) { return core_.endpoints->find(trials.endpoint) == nullptr; });
  std::vector<Handle> confirmed;
  for (Trials& trials : trials_) {
    const LiveEndpoint* endpoint = core_.endpoints->find(trials.endpoint);
    if (endpoint == nullptr || !core_.endpoints->view(endpoint->view).evidence.silence.on) continue;
    if (endpoint->doubt == Doubt::doubted) {
      compare(trials, *endpoint);
      continue;
    }
    const bool silent = endpoint->doubt == Doubt::confirmed;
    if (silent && endpoint->heard <= endpoint->confirmed_at) confirmed.push_back(trials.endpoint);
  }
  for (const Handle handle : confirmed) {
    if (const LiveEndpoint* endpoint = core_.endpoints->find(handle); endpoint != nullptr) relieve(*endpoint);
  }
}

bool HealthWatch::surely_doubted(Handle endpoint) const {
  const auto known = doubted_.find(endpoint.slot);
  return known != doubted_.end() && known->second.endpoint == endpoint && known->second.surprise >= surely_doubtful &&
         known->second.requests >= waiting_min;
}

// Two requests that have left a silent endpoint are not answered where they went either: perhaps they are slow
// themselves, and block one endpoint that handles one at a time after another. Such endpoints get no trial meanwhile.
bool HealthWatch::requests_are_slow(const LiveEndpoint& endpoint) const {
  const auto found = slow_elsewhere_.find(endpoint.view.slot);
  return !endpoint.order.concurrent() && found != slow_elsewhere_.end() && found->second >= slow_elsewhere_max;
}

// Nobody has asked its siblings meanwhile, where it gets nearly all requests: it is not doubted for that. But one that
// waits there is asked elsewhere, so that there is something to compare with.
void HealthWatch::ask_siblings() {
  for (const auto& [handle, kind] : unasked_) {
    LiveEndpoint* endpoint = core_.endpoints->find(handle);
    if (endpoint == nullptr || endpoint->doubt != Doubt::none) continue;
    if (looked_at_ < endpoint->siblings_asked + siblings_interval) continue;
    // What they have just been asked will tell as much.
    const auto asked = [this](const LiveEndpoint& sibling) { return asked_lately_.contains(sibling.self.slot); };
    if (any_sibling(*endpoint, asked)) continue;
    endpoint->siblings_asked = looked_at_;
    move_one(*endpoint, true, kind);
  }
}

// No request comes that it could be tried with: perhaps all clients wait for it. One of theirs that is overdue and can
// be repeated is asked elsewhere. If the answer comes as soon as usual, that is as good as a trial.
void HealthWatch::compare(Trials& trials, const LiveEndpoint& endpoint) {
  std::erase_if(trials.until, [this](base::Instant until) { return until <= looked_at_; });
  if (looked_at_ < trials.compare_at || !trials.until.empty() || requests_are_slow(endpoint)) return;
  // No trial may come where it drains, or where what waits there is all that it may have.
  const bool sure = surely_doubted(endpoint.self);
  if (!sure && looked_at_ - trials.since < untried_max) return;
  trials.compare_at = looked_at_ + trial_interval;
  move_one(endpoint, sure);
}

// The last that came: one that handles requests one after another may work on the first, for as long as that takes.
// `sure`: also one that is not overdue for its kind.
void HealthWatch::move_one(const LiveEndpoint& endpoint, bool sure, std::optional<lifecycle::RequestKind> of) {
  const Handle self = endpoint.self;  // it may leave for good with its last request
  const BackendView& view = core_.endpoints->view(endpoint.view);
  KnownTimes times(*this, endpoint.view);
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
    if (added) found->second = lifecycle::plan_trial(times.of(request.kind), view.evidence.silence.trial);
    const base::Duration waited = looked_at_ - exchange.attempt->asked;
    if (!found->second || waited <= view.evidence.silence.after) return;
    const bool overdue = sure || lifecycle::chance_of_longer(times.of(request.kind), waited, 0) <= overdue_chance;
    if (overdue) fit.push_back({exchange.attempt->asked, handle, *found->second});
  });
  std::ranges::sort(fit, std::ranges::greater{}, &Fit::asked);
  if (fit.size() > comparable_max) fit.resize(comparable_max);
  for (const Fit& each : fit) {
    if (core_.moves->compare(self, each.exchange, each.plan)) return relieved(self, 1);
  }
}

// What can be repeated leaves a confirmed silence if it is overdue for its kind. A request that is slow by nature
// stays, and the longer nothing at all comes, the less is taken for slow.
void HealthWatch::relieve(const LiveEndpoint& endpoint) {
  const Handle self = endpoint.self;
  const BackendView& view = core_.endpoints->view(endpoint.view);
  const base::Duration silence = looked_at_ - endpoint.silent_since;
  const base::Duration survived = survived_by(view);
  const base::Instant first = first_asked(self);
  if (silence < unproven_max && !another_may_answer(endpoint, first)) return;
  const bool concurrent = endpoint.order.concurrent();
  const double chance_max = lifecycle::chance_of_stay(silence, survived, concurrent);
  // One that handles requests one after another may work on the first, where its like have come back after such a time
  // or some of its kind have taken as long. And what waits behind that one may be slow too, where its kind is new.
  const bool knows_enough = concurrent || silence >= new_kind_max;
  KnownTimes times(*this, endpoint.view);
  const std::uint32_t moved = core_.moves->leave_silent(self, [&](const Exchange& exchange) {
    const base::Duration waited = looked_at_ - exchange.attempt->asked;
    if (waited < view.evidence.silence.trial) return false;
    const AnswerTimes& known =
        knows_enough ? times.like(exchange.request.kind, waited) : times.of(exchange.request.kind);
    const bool worked_on = silence < 2 * survived || lifecycle::known_as_slow(known, waited);
    if (!concurrent && exchange.attempt->asked == first && worked_on && silence < lifecycle::slow_silence_max)
      return false;
    return lifecycle::chance_of_longer(known, waited, 0) <= chance_max;
  });
  relieved(self, moved);
}

// Where all are silent another one is no better. It is if it has answered what was asked later than what waits here, or
// if it lets nothing wait.
bool HealthWatch::another_may_answer(const LiveEndpoint& endpoint, base::Instant asked) const {
  const auto known = doubted_.find(endpoint.self.slot);
  const bool compared = known != doubted_.end() && known->second.endpoint == endpoint.self;
  if (compared || endpoint.siblings_answer) return true;
  return any_sibling(endpoint, [&](const LiveEndpoint& sibling) {
    return sibling.evidence.asked_latest() >= asked || !owes(sibling.self);
  });
}

bool HealthWatch::owes(Handle endpoint) const {
  return std::ranges::any_of(waiting_,
                             [endpoint](const Waiting& each) { return each.endpoint == endpoint && !each.overtaken; });
}

base::Duration HealthWatch::survived_by(const BackendView& view) const {
  base::Duration longest{};
  for (const Handle handle : view.endpoints) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    const bool lately = endpoint != nullptr && looked_at_ < endpoint->survived_until;
    if (lately) longest = std::max(longest, endpoint->survived);
  }
  return longest;
}

base::Instant HealthWatch::first_asked(Handle endpoint) const {
  base::Instant first = base::Instant::max();
  core_.exchanges->for_each([&](Handle, const Exchange& exchange) {
    if (exchange.endpoint() != endpoint || !exchange.waits_for_answer()) return;
    first = std::min(first, exchange.attempt->asked);
  });
  return first;
}

// One that had left the list is gone with its last request, and so is who would want to know.
void HealthWatch::relieved(Handle handle, std::uint32_t moved) {
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
