#include "gate/checks.h"

#include <algorithm>

#include "gate/endpoints.h"
#include "gate/health.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::ActiveCheck;

namespace {

// When a check that is under way says something about an endpoint that is doubted: after ten times its usual.
constexpr base::Duration overdue_min = std::chrono::milliseconds{250};
constexpr std::uint64_t checks_known = 10;

}  // namespace

void Checks::follow(Handle view_handle) {
  if (core_.stopping) return;
  const BackendView& view = core_.endpoints->view(view_handle);
  for (const Handle handle : view.endpoints) {
    const LiveEndpoint& endpoint = *core_.endpoints->find(handle);
    if (core_.siblings.home(endpoint.identity) == core_.siblings.self) follow(endpoint, view.check.get());
  }
}

void Checks::follow(const LiveEndpoint& endpoint, const CheckTarget* target) {
  if (target == nullptr) return stop(endpoint.identity);
  const auto known = by_identity_.find(endpoint.identity);
  const Handle handle = known == by_identity_.end() ? checks_.emplace() : known->second;
  Check& check = *checks_.find(handle);
  if (check.every == target->model.every) return;
  check.every = target->model.every;
  check.self = handle;
  check.identity = endpoint.identity;
  check.timer.set_owner({owner_check, handle});
  by_identity_[endpoint.identity] = handle;
  // One that is under way is followed by the next in any case.
  if (check.connection) return;
  core_.reactor.timers().arm(check.timer, check.life.first_at(core_.reactor.now(), target->plan(), core_.random));
}

void Checks::stop(std::uint64_t identity) {
  const auto known = by_identity_.find(identity);
  if (known == by_identity_.end()) return;
  checks_.erase(known->second);
  by_identity_.erase(known);
  core_.health->checks_ended(identity);
}

bool Checks::ask_now(std::uint64_t identity) {
  const auto known = by_identity_.find(identity);
  if (known == by_identity_.end()) return false;
  Check& check = *checks_.find(known->second);
  if (!check.connection) begin(check);
  return true;
}

bool Checks::overdue(std::uint64_t identity) {
  const auto known = by_identity_.find(identity);
  if (known == by_identity_.end()) return false;
  EBB_FIND(check, checks_.find(known->second), false);
  if (!check.connection || check.told_overdue || check.facts.passed < checks_known) return false;
  check.told_overdue = check.life.taken(core_.reactor.now()) >= std::max(overdue_min, 10 * check.usual);
  return check.told_overdue;
}

void Checks::on_timer(Handle handle) {
  Check* check = checks_.find(handle);
  if (check == nullptr) return;
  if (check->connection) return end(*check, check->connection->on_timeout());
  begin(*check);
}

std::shared_ptr<const CheckTarget> Checks::target_of(std::uint64_t identity) const {
  const LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
  return endpoint == nullptr ? nullptr : core_.endpoints->view(endpoint->view).check;
}

void Checks::begin(Check& check) {
  const auto target = target_of(check.identity);
  if (!target) return stop(check.identity);
  check.life.began(core_.reactor.now());
  check.told_overdue = false;
  core_.arm(check.timer, target->model.timeout);
  const base::Address& address = core_.endpoints->find_identity(check.identity)->address;
  check.connection = std::make_unique<CheckConnection>(core_, target, address);
  if (const auto ending = check.connection->open({owner_check, check.self})) end(check, *ending);
}

void Checks::end(Check& check, const CheckResult& result) {
  const base::Instant now = core_.reactor.now();
  check.connection.reset();
  check.facts.last = result;
  check.facts.taken = check.life.taken(now);
  check.facts.at = core_.reactor.clock().wall();
  const auto target = target_of(check.identity);
  if (!target) return stop(check.identity);
  count(check, *target, result);
  core_.reactor.timers().arm(check.timer, check.life.next_at(now, target->plan(), core_.random));
}

void Checks::count(Check& check, const CheckTarget& target, const CheckResult& result) {
  // What the router could not do is not held against the endpoint.
  if (result.outcome == CheckOutcome::not_asked) return;
  const bool passed = gate::facts(result.outcome).passed;
  const lifecycle::CheckPlan plan = target.plan();
  const ActiveCheck::News news = passed ? check.life.passed(plan) : check.life.failed(plan);
  (passed ? check.facts.passed : check.facts.failed) += 1;
  if (news == ActiveCheck::News::fell) check.facts.falls += 1;
  core_.counters.checks[target.backend][passed ? 1 : 0] += 1;
  if (passed)
    check.usual = check.facts.passed == 1 ? check.facts.taken : check.usual + (check.facts.taken - check.usual) / 8;
  core_.health->checked(check.identity, news, result, check.told_overdue);
}

void Checks::stop() {
  checks_.for_each([this](Handle handle, Check&) { checks_.erase(handle); });
  by_identity_.clear();
}

std::optional<CheckFacts> Checks::facts(std::uint64_t identity) const {
  const auto known = by_identity_.find(identity);
  const auto target = known == by_identity_.end() ? nullptr : target_of(identity);
  if (!target) return {};
  const Check& check = *checks_.find(known->second);
  CheckFacts facts = check.facts;
  facts.state = check.life.state();
  facts.in_a_row = check.life.in_a_row();
  facts.fall = target->model.fall;
  facts.rise = target->model.rise;
  return facts;
}

std::size_t Checks::connections() const {
  std::size_t count = 0;
  checks_.for_each([&count](Handle, const Check& check) { count += check.connection ? 1 : 0; });
  return count;
}

}  // namespace ebb::gate
