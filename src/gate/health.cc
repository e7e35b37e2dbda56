#include "gate/health.h"

#include <algorithm>

#include "gate/checks.h"
#include "gate/exchanges.h"
#include "gate/worker.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Health;
using lifecycle::Verdict;

namespace {

constexpr base::Duration look_interval_delayed = std::chrono::milliseconds{50};  // one time-out: the second may be near
// Of a probe: where data is not acknowledged either, an answer is not waited for as long as usual.
constexpr base::Duration probe_time = std::chrono::seconds{1};
constexpr base::Duration probe_time_doubted = std::chrono::milliseconds{250};
constexpr Handle the_timer{0, 0};  // of the watch itself; probes have valid handles

}  // namespace

HealthWatch::HealthWatch(Core& core) : core_(core) { timer_.set_owner({owner_health, the_timer}); }

void HealthWatch::connect_failed(const LiveEndpoint& endpoint, Cause cause) {
  if (endpoint.health == Health::down || !lifecycle::unreachable(cause)) return;
  if (!core_.endpoints->view(endpoint.view).evidence.connect) return;
  report({endpoint.identity, Finding::Kind::connect_failed, cause});
}

void HealthWatch::report(const Finding& finding) {
  const Siblings& siblings = core_.siblings;
  const std::size_t home = siblings.home(finding.identity);
  if (home == siblings.self || !siblings.post) return take(finding);
  siblings.post(home, [finding](Worker& worker) { worker.health().take(finding); });
}

void HealthWatch::checked(std::uint64_t identity, lifecycle::ActiveCheck::News news, const CheckResult& result,
                          bool told) {
  using News = lifecycle::ActiveCheck::News;
  // Of an endpoint that nothing is held against, a single check says nothing new.
  if (news == News::none && !book_.contains(identity)) return;
  using enum Finding::Kind;
  const bool passed = facts(result.outcome).passed;
  const bool turned = news != News::none;
  take({.identity = identity,
        .kind = passed ? (turned ? check_rose : check_passed) : (turned ? check_fell : check_failed),
        .cause = result.cause,
        .unanswered = timed_out(result.outcome) && (turned || !told)});
}

void HealthWatch::checks_ended(std::uint64_t identity) {
  // What they have found in this round would keep it down, and nobody would ask again.
  std::erase_if(inbox_, [identity](const Finding& finding) {
    return finding.identity == identity && finding.kind >= Finding::Kind::check_passed;
  });
  const auto known = book_.find(identity);
  if (known != book_.end()) known->second.checks_ended(core_.reactor.now());
}

void HealthWatch::forget(std::uint64_t identity) {
  const auto known = book_.find(identity);
  if (known == book_.end()) return;
  const bool ill = known->second.health() != Health::up;
  book_.erase(known);
  // Others may keep the endpoint, for work that it still has there.
  if (ill) spread(identity, {});
}

void HealthWatch::settle() {
  for (const Finding& finding : std::exchange(inbox_, {})) judge(finding);
}

void HealthWatch::judge(const Finding& finding) {
  if (core_.endpoints->find_identity(finding.identity) == nullptr) return;
  Verdict& verdict = book_[finding.identity];
  announce(finding.identity, verdict, weigh(verdict, finding));
  const auto known = book_.find(finding.identity);  // it may have ended the last work of one that had left
  if (known == book_.end() || core_.stopping) return;
  if (known->second.probe_at() <= core_.reactor.now()) probe(finding.identity, known->second);
}

HealthWatch::Change HealthWatch::weigh(Verdict& verdict, const Finding& finding) {
  const base::Instant now = core_.reactor.now();
  const LiveEndpoint& endpoint = *core_.endpoints->find_identity(finding.identity);
  const bool unanswered = finding.unanswered && judges_silence(endpoint);
  switch (finding.kind) {
    case Finding::Kind::connect_failed: return verdict.connect_failed(now, finding.cause);
    case Finding::Kind::delayed: verdict.delayed(now); return {};
    case Finding::Kind::stalled: return verdict.stalled(now);
    // New work is taken from it only where others can carry it; that it is down already is no reason not to know.
    case Finding::Kind::silent:
    case Finding::Kind::ping_unanswered: {
      const bool may_doubt = verdict.health() == Health::down || may_eject(endpoint);
      const bool ping = finding.kind == Finding::Kind::ping_unanswered;
      if (may_doubt) return ping ? verdict.ping_unanswered(now) : verdict.silent(now, finding.surprise);
      return ping ? verdict.trial_failed(now, Verdict::check_surprise) : Change{};
    }
    case Finding::Kind::trial_failed: return verdict.trial_failed(now, finding.surprise);
    case Finding::Kind::heard: return verdict.heard(now);
    case Finding::Kind::failing: return may_eject(endpoint) ? verdict.failing(now, finding.cause) : Change{};
    case Finding::Kind::check_passed: return verdict.check_passed(now);
    case Finding::Kind::check_failed: return verdict.check_failed(now, finding.cause, unanswered);
    // However many fail: it is the operator who says what a good endpoint is. If all do, they serve nevertheless.
    case Finding::Kind::check_fell: return verdict.check_fell(now, finding.cause, unanswered);
    case Finding::Kind::check_rose: return verdict.check_rose(now);
  }
  return {};
}

bool HealthWatch::judges_silence(const LiveEndpoint& endpoint) const {
  return core_.endpoints->view(endpoint.view).evidence.silence.on;
}

// Never more than half of a backend for what may be a misjudgement: the others would have to carry it all.
bool HealthWatch::may_eject(const LiveEndpoint& endpoint) const {
  const BackendView& view = core_.endpoints->view(endpoint.view);
  std::size_t ill = 1;
  for (const Handle handle : view.endpoints) {
    const LiveEndpoint& other = *core_.endpoints->find(handle);
    if (&other != &endpoint && (other.health == Health::down || other.health == Health::suspect)) ill += 1;
  }
  return 2 * ill <= view.endpoints.size();
}

void HealthWatch::announce(std::uint64_t identity, Verdict& verdict, Change change) {
  if (verdict.health() == Health::warming) change.changed = verdict.warmed().changed || change.changed;
  if (!change.changed) return;
  const LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
  if (endpoint == nullptr) return;
  const Health health = verdict.health();
  probing_ = probing_ || verdict.needs_looks();
  const Cause why = health == Health::up ? Cause::none : verdict.why();
  if (endpoint->health != health || endpoint->why != why) {
    const Cause counted = health == Health::up ? Cause::completed : why;  // a recovery has no trouble of its own
    core_.counters.verdicts[static_cast<std::size_t>(health)][static_cast<std::size_t>(counted)] += 1;
  }
  if (core_.on_health_change) tell(identity, verdict, change.condemned);
  if (verdict.doubt() == lifecycle::Doubt::doubted && endpoint->doubt == lifecycle::Doubt::none) {
    core_.checks->ask_now(identity);
  }
  spread(identity, {.health = health,
                    .why = why,
                    .doubt = verdict.doubt(),
                    .siblings_answer = verdict.compared(),
                    .condemned = change.condemned,
                    .heard = change.heard});
}

void HealthWatch::spread(std::uint64_t identity, const HealthNews& news) {
  const Siblings& siblings = core_.siblings;
  for (std::size_t i = 0; siblings.post && i < siblings.count; ++i) {
    if (i == siblings.self) continue;
    siblings.post(i, [=](Worker& worker) { worker.health().apply(identity, news); });
  }
  apply(identity, news);
}

void HealthWatch::tell(std::uint64_t identity, const Verdict& verdict, bool condemned) {
  const LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
  if (endpoint == nullptr) return;
  const Health health = verdict.health();
  core_.on_health_change({.backend = core_.endpoints->view(endpoint->view).name,
                          .endpoint = std::string(core_.labels.text(endpoint->label)),
                          .address = endpoint->address,
                          .from = endpoint->health,
                          .to = health,
                          .cause = health == Health::up ? endpoint->why : verdict.why(),
                          .condemned = condemned,
                          .ejected = verdict.ejected(),
                          .lasted = core_.reactor.now() - endpoint->health_since,
                          .doubt = verdict.doubt(),
                          .surprise = verdict.surprise(),
                          .trials_failed = verdict.trials_failed()});
}

void HealthWatch::apply(std::uint64_t identity, const HealthNews& news) {
  LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
  if (endpoint == nullptr) return;
  if (endpoint->health == Health::down && news.health == Health::up) {
    endpoint->order = {};
    endpoint->evidence.begin_anew(core_.endpoints->view(endpoint->view).evidence.failures.in_a_row);
  }
  follow_doubt(*endpoint, news);
  follow_reach(*endpoint, news);
  core_.endpoints->set_health(identity, news.health, news.why, news.condemned);
}

void HealthWatch::arm() {
  const bool needed =
      core_.exchanges->size() > 0 || !given_up_at_.empty() || !reaches_.empty() || (probing_ && !core_.stopping);
  if (!needed) {
    forget_waiting();  // no looks any more: what waited then must not be told to other workers, nor count here
    return timer_.disarm();
  }
  if (!timer_.armed()) core_.arm(timer_, delayed_ ? look_interval_delayed : look_interval);
}

void HealthWatch::on_timer(base::Owner owner) {
  if (owner.handle != the_timer) return end_probe(owner.handle, false);
  look();
  if (!core_.stopping) look_at_book();
}

void HealthWatch::look_at_book() {
  const base::Instant now = core_.reactor.now();
  std::vector<std::uint64_t> due, forgotten, withdrawn;  // the last: silence was switched off meanwhile
  probing_ = false;
  for (const auto& [identity, verdict] : book_) {
    probing_ = probing_ || verdict.needs_looks();
    if (verdict.settled(now)) forgotten.push_back(identity);
    const bool unanswered = verdict.doubt() != lifecycle::Doubt::none && core_.checks->overdue(identity);
    if (unanswered)
      take({.identity = identity, .kind = Finding::Kind::trial_failed, .surprise = Verdict::check_surprise});
    const LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
    const bool baseless =
        verdict.doubt() != lifecycle::Doubt::none && endpoint != nullptr && !judges_silence(*endpoint);
    if (baseless) {
      withdrawn.push_back(identity);
    } else if (verdict.overdue(now) || verdict.probe_at() <= now || verdict.doubt_expired(now)) {
      due.push_back(identity);
    }
  }
  for (const std::uint64_t identity : forgotten) book_.erase(identity);
  for (const std::uint64_t identity : withdrawn) {
    const auto known = book_.find(identity);
    if (known != book_.end()) announce(identity, known->second, known->second.expire(now));
  }
  for (const std::uint64_t identity : due) {
    const auto known = book_.find(identity);
    if (known == book_.end()) continue;
    Verdict& verdict = known->second;
    if (verdict.overdue(now)) {
      announce(identity, verdict, verdict.probe_failed(now));
    } else if (verdict.doubt_expired(now)) {
      // What this look has found of the same requests is not news.
      std::erase_if(inbox_, [identity](const Finding& finding) {
        return finding.identity == identity && finding.kind == Finding::Kind::silent;
      });
      announce(identity, verdict, verdict.expire(now));
    } else {
      probe(identity, verdict);
    }
  }
}

// That a connection is established is all that it asks; of what is down and has checks, those ask more.
void HealthWatch::probe(std::uint64_t identity, Verdict& verdict) {
  if (verdict.health() == Health::down && core_.checks->ask_now(identity)) return verdict.left_to_check();
  const LiveEndpoint& endpoint = *core_.endpoints->find_identity(identity);
  const Handle self = probes_.emplace();
  ProbeConnection& probe = *probes_.find(self);
  const auto socket = core_.reactor.connect(endpoint.address, {owner_health, self});
  if (!socket) {
    probes_.erase(self);
    // That we have no descriptor or port left says nothing about it.
    if (socket.error().cause == Cause::resource_limit) return verdict.probe_later(core_.reactor.now());
    return announce(identity, verdict, verdict.probe_failed(core_.reactor.now()));
  }
  verdict.probing();
  probe.identity = identity;
  probe.socket = *socket;
  probe.timer.set_owner({owner_health, self});
  core_.arm(probe.timer, verdict.health() == Health::down ? probe_time : probe_time_doubted);
}

void HealthWatch::end_probe(Handle handle, bool passed) {
  ProbeConnection* probe = probes_.find(handle);
  if (probe == nullptr) return;
  const std::uint64_t identity = probe->identity;
  core_.reactor.close(probe->socket, reactor::CloseMode::reset);
  probe->timer.disarm();
  probes_.erase(handle);
  const auto known = book_.find(identity);
  if (known == book_.end()) return;
  const base::Instant now = core_.reactor.now();
  Verdict& verdict = known->second;
  announce(identity, verdict, passed ? verdict.probe_passed(now) : verdict.probe_failed(now));
}

void HealthWatch::stop() {
  std::vector<Handle> all;
  probes_.for_each([&all](Handle handle, ProbeConnection&) { all.push_back(handle); });
  for (const Handle handle : all) {
    core_.reactor.close(probes_.find(handle)->socket, reactor::CloseMode::reset);
    probes_.erase(handle);
  }
}

}  // namespace ebb::gate
