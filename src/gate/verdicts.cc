#include "gate/verdicts.h"

#include "gate/checks.h"
#include "gate/worker.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Doubt;
using lifecycle::Health;
using lifecycle::Verdict;

namespace {

// Of a probe: where data is not acknowledged either, an answer is not waited for as long as usual.
constexpr base::Duration probe_time = std::chrono::seconds{1};
constexpr base::Duration probe_time_doubted = std::chrono::milliseconds{250};

}  // namespace

void Verdicts::checked(std::uint64_t identity, lifecycle::ActiveCheck::News news, const CheckResult& result,
                       bool told) {
  using News = lifecycle::ActiveCheck::News;
  // Of an endpoint that nothing is held against, a single check says nothing new.
  if (news == News::none && !verdicts_.contains(identity)) return;
  using enum Finding::Kind;
  const bool passed = facts(result.outcome).passed;
  const bool turned = news != News::none;
  findings_.take({.identity = identity,
                  .kind = passed ? (turned ? check_rose : check_passed) : (turned ? check_fell : check_failed),
                  .cause = result.cause,
                  .unanswered = timed_out(result.outcome) && (turned || !told)});
}

void Verdicts::checks_ended(std::uint64_t identity) {
  // What they have found in this round would keep it down, and no check would follow.
  findings_.withdraw([identity](const Finding& finding) { return finding.identity == identity && finding.of_check(); });
  const auto known = verdicts_.find(identity);
  if (known != verdicts_.end()) known->second.checks_ended(core_.reactor.now());
}

void Verdicts::forget(std::uint64_t identity) {
  const auto known = verdicts_.find(identity);
  if (known == verdicts_.end()) return;
  const bool ill = known->second.health() != Health::up;
  verdicts_.erase(known);
  // Others may keep the endpoint, for work that it still has there.
  if (ill) spread(identity, {});
}

void Verdicts::judge_all() {
  for (const Finding& finding : findings_.take_all()) judge(finding);
}

void Verdicts::judge(const Finding& finding) {
  const LiveEndpoint* endpoint = core_.endpoints->find_identity(finding.identity);
  if (endpoint == nullptr) return;
  Verdict& verdict = verdicts_[finding.identity];
  announce(finding.identity, verdict, weigh(*endpoint, verdict, finding));
  // The news may have ended the last work of an endpoint that had left, and with it the verdict.
  const auto known = verdicts_.find(finding.identity);
  if (known == verdicts_.end() || core_.stopping) return;
  if (known->second.probe_at() <= core_.reactor.now()) probe(finding.identity, known->second);
}

Verdicts::Change Verdicts::weigh(const LiveEndpoint& endpoint, Verdict& verdict, const Finding& finding) const {
  const base::Instant now = core_.reactor.now();
  const bool unanswered = finding.unanswered && judges_silence(endpoint);
  switch (finding.kind) {
    case Finding::Kind::connect_failed: return verdict.connect_failed(now, finding.cause);
    case Finding::Kind::delayed: verdict.delayed(now); return {};
    case Finding::Kind::stalled: return verdict.stalled(now);
    case Finding::Kind::silent:
    case Finding::Kind::ping_unanswered: return weigh_silence(endpoint, verdict, finding);
    case Finding::Kind::trial_failed: return verdict.trial_failed(now, finding.surprise);
    case Finding::Kind::heard: return verdict.heard(now);
    case Finding::Kind::failing: return may_eject(endpoint) ? verdict.failing(now, finding.cause) : Change{};
    case Finding::Kind::check_passed: return verdict.check_passed(now);
    case Finding::Kind::check_failed: return verdict.check_failed(now, finding.cause, unanswered);
    // However many fail: the operator says what a good endpoint is. If all fail, they serve nevertheless.
    case Finding::Kind::check_fell: return verdict.check_fell(now, finding.cause, unanswered);
    case Finding::Kind::check_rose: return verdict.check_rose(now);
  }
  return {};
}

// A doubt takes new work away, so that other endpoints must be able to carry it. An endpoint that is down already may
// always be doubted.
Verdicts::Change Verdicts::weigh_silence(const LiveEndpoint& endpoint, Verdict& verdict, const Finding& finding) const {
  const base::Instant now = core_.reactor.now();
  const bool may_doubt = verdict.health() == Health::down || may_eject(endpoint);
  const bool ping = finding.kind == Finding::Kind::ping_unanswered;
  if (may_doubt) return ping ? verdict.ping_unanswered(now) : verdict.silent(now, finding.surprise);
  return ping ? verdict.trial_failed(now, Verdict::check_surprise) : Change{};
}

bool Verdicts::judges_silence(const LiveEndpoint& endpoint) const {
  return core_.endpoints->view(endpoint.view).evidence.silence.on;
}

// Never more than half of a backend for what may be a misjudgement: the others would have to carry it all.
bool Verdicts::may_eject(const LiveEndpoint& endpoint) const {
  const BackendView& view = core_.endpoints->view(endpoint.view);
  std::size_t ill = 1;
  for (const Handle handle : view.endpoints) {
    const LiveEndpoint* other = core_.endpoints->find(handle);
    if (other == nullptr || other == &endpoint) continue;
    if (other->health == Health::down || other->health == Health::suspect) ill += 1;
  }
  return 2 * ill <= view.endpoints.size();
}

void Verdicts::announce(std::uint64_t identity, Verdict& verdict, Change change) {
  if (verdict.health() == Health::warming) change.changed = verdict.warmed().changed || change.changed;
  if (!change.changed) return;
  const LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
  if (endpoint == nullptr) return;
  const Health health = verdict.health();
  needs_looks_ = needs_looks_ || verdict.needs_looks();
  const Cause why = health == Health::up ? Cause::none : verdict.why();
  if (endpoint->health != health || endpoint->why != why) {
    const Cause counted = health == Health::up ? Cause::completed : why;  // a recovery has no trouble of its own
    core_.counters.verdicts[static_cast<std::size_t>(health)][static_cast<std::size_t>(counted)] += 1;
  }
  if (core_.on_health_change) tell(*endpoint, verdict, change.condemned);
  if (verdict.doubt() == Doubt::doubted && endpoint->doubt == Doubt::none) core_.checks->ask_now(identity);
  spread(identity, {.health = health,
                    .why = why,
                    .doubt = verdict.doubt(),
                    .siblings_answer = verdict.compared(),
                    .condemned = change.condemned,
                    .heard = change.heard});
}

void Verdicts::tell(const LiveEndpoint& endpoint, const Verdict& verdict, bool condemned) const {
  const Health health = verdict.health();
  core_.on_health_change({.backend = core_.endpoints->view(endpoint.view).name,
                          .endpoint = std::string(core_.labels.text(endpoint.label)),
                          .address = endpoint.address,
                          .from = endpoint.health,
                          .to = health,
                          .cause = health == Health::up ? endpoint.why : verdict.why(),
                          .condemned = condemned,
                          .ejected = verdict.ejected(),
                          .lasted = core_.reactor.now() - endpoint.health_since,
                          .doubt = verdict.doubt(),
                          .surprise = verdict.surprise(),
                          .trials_failed = verdict.trials_failed()});
}

void Verdicts::spread(std::uint64_t identity, const HealthNews& news) {
  const Siblings& siblings = core_.siblings;
  for (std::size_t i = 0; siblings.post && i < siblings.count; ++i) {
    if (i == siblings.self) continue;
    siblings.post(i, [=](Worker& worker) { worker.health().apply(identity, news); });
  }
  core_.health->apply(identity, news);
}

void Verdicts::look() {
  const base::Instant now = core_.reactor.now();
  const Due due = find_due();
  for (const std::uint64_t identity : due.forget) verdicts_.erase(identity);
  for (const std::uint64_t identity : due.withdraw) {
    const auto known = verdicts_.find(identity);
    if (known != verdicts_.end()) announce(identity, known->second, known->second.expire(now));
  }
  for (const std::uint64_t identity : due.probe_or_decide) {
    const auto known = verdicts_.find(identity);
    if (known != verdicts_.end()) act_on(identity, known->second);
  }
}

Verdicts::Due Verdicts::find_due() {
  const base::Instant now = core_.reactor.now();
  Due due;
  needs_looks_ = false;
  for (const auto& [identity, verdict] : verdicts_) {
    needs_looks_ = needs_looks_ || verdict.needs_looks();
    if (verdict.settled(now)) due.forget.push_back(identity);
    const bool in_doubt = verdict.doubt() != Doubt::none;
    if (in_doubt && core_.checks->overdue(identity)) {
      findings_.take({.identity = identity, .kind = Finding::Kind::trial_failed, .surprise = Verdict::check_surprise});
    }
    const LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
    if (in_doubt && endpoint != nullptr && !judges_silence(*endpoint)) {
      due.withdraw.push_back(identity);
    } else if (verdict.overdue(now) || verdict.probe_at() <= now || verdict.doubt_expired(now)) {
      due.probe_or_decide.push_back(identity);
    }
  }
  return due;
}

void Verdicts::act_on(std::uint64_t identity, Verdict& verdict) {
  const base::Instant now = core_.reactor.now();
  if (verdict.overdue(now)) return announce(identity, verdict, verdict.probe_failed(now));
  if (!verdict.doubt_expired(now)) return probe(identity, verdict);
  // What this look has found of the same requests is not news.
  findings_.withdraw([identity](const Finding& finding) {
    return finding.identity == identity && finding.kind == Finding::Kind::silent;
  });
  announce(identity, verdict, verdict.expire(now));
}

// That a connection is established is all that a probe asks. The checks of an endpoint that is down ask more.
void Verdicts::probe(std::uint64_t identity, Verdict& verdict) {
  if (verdict.health() == Health::down && core_.checks->ask_now(identity)) return verdict.left_to_check();
  EBB_FIND(endpoint, core_.endpoints->find_identity(identity));
  const bool down = verdict.health() == Health::down;
  const Cause cause = probes_.begin(identity, endpoint.address, down ? probe_time : probe_time_doubted);
  if (cause == Cause::none) return verdict.probing();
  const base::Instant now = core_.reactor.now();
  // That we have no descriptor or port left says nothing about the endpoint.
  if (cause == Cause::resource_limit) return verdict.probe_later(now);
  announce(identity, verdict, verdict.probe_failed(now));
}

void Verdicts::probe_ended(std::uint64_t identity, bool passed) {
  const auto known = verdicts_.find(identity);
  if (known == verdicts_.end()) return;
  const base::Instant now = core_.reactor.now();
  Verdict& verdict = known->second;
  announce(identity, verdict, passed ? verdict.probe_passed(now) : verdict.probe_failed(now));
}

}  // namespace ebb::gate
