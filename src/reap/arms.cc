#include "reap/arms.h"

#include <algorithm>

#include "census/classify.h"
#include "reap/outgoing.h"

namespace ebb::reap {

void Arms::attach(const Policy& policy) {
  if (!policy.arm) return;
  const ConnectScopes found = connect_scopes(policy.allow);
  if (!policy.act) {
    events_.info("arming", {{"at_connect", "0"},
                            {"would_arm_at_connect", std::to_string(found.scopes.size())},
                            {"rows_armed_when_seen", "0"},
                            {"remedy", "`act: true` in the policy, without --dry-run, and a restart"}});
    return;
  }
  std::string problem;
  if (!found.scopes.empty()) {
    auto attached = ConnectArms::attach(found.scopes, *policy.arm);
    if (attached) {
      at_connect_ = std::move(*attached);
    } else {
      problem = attached.error();
    }
  }
  const std::string attached_to = std::to_string(at_connect_ ? found.scopes.size() : 0);
  const std::string left_out = std::to_string(found.rows_left_out);
  if (problem.empty()) {
    events_.info("arming", {{"at_connect", attached_to}, {"rows_armed_when_seen", left_out}});
  } else {
    events_.warning("arming", {{"at_connect", attached_to},
                               {"rows_armed_when_seen", std::to_string(policy.allow.size())},
                               {"problem", problem}});
  }
}

void Arms::set_policy(const Policy& policy) {
  open_.reset();  // lifts the limits of stalls
  if (policy.arm) open_.emplace(*policy.arm, policy.act ? ArmDeed::set : ArmDeed::say);
  if ((policy.arm && policy.act) || !at_connect_ || !at_connect_->attached()) return;
  at_connect_->detach();
  events_.warning("arming", {{"at_connect", "0"}, {"remedy", "restart the agent to arm sockets at connect again"}});
}

bool Arms::wants_sweep(const census::Sample& glanced) const {
  if (!open_ || !open_->may_limit_stalls()) return false;
  if (open_->limits_stalls()) return true;
  const Outgoing outgoing(glanced);
  return std::ranges::any_of(glanced.sockets, [&outgoing](const census::Socket& socket) {
    return census::is_stalled(socket, 1) && outgoing.contains(socket);
  });
}

void Arms::sweep(const census::Sample& sample, const OpenArms::FindOwners& find_owners,
                 const OpenArms::Allows& allows) {
  if (!open_) return;
  const ArmSweep swept = open_->sweep(sample, find_owners, allows);
  {
    const std::lock_guard lock(mutex_);
    for (const ArmedProcess& each : swept.processes) totals_.add(each.counts);
    stalls_limited_ += swept.stalls_limited;
  }
  for (const ArmedProcess& each : swept.processes) tell(each);
}

void Arms::tell(const ArmedProcess& each) {
  const std::uint64_t sockets = each.counts.armed + each.counts.would_arm;  // a sweep fills one of them
  if (sockets == 0) return;
  events_.info(each.counts.armed > 0 ? "armed" : "would_arm", {{"process", each.process.name},
                                                               {"pid", std::to_string(each.process.pid)},
                                                               {"sockets", std::to_string(sockets)},
                                                               {"left_alone", std::to_string(each.counts.left_alone)},
                                                               {"refused", std::to_string(each.counts.refused)}});
}

void Arms::write_metrics(observe::MetricWriter& writer) const {
  ArmCounts open;
  std::uint64_t stalls_limited = 0;
  {
    const std::lock_guard lock(mutex_);
    open = totals_;
    stalls_limited = stalls_limited_;
  }
  const auto at_connect = [this](ArmCounter counter) { return at_connect_ ? at_connect_->count(counter) : 0; };
  writer.counter("ebbgate_reap_armed_sockets", "Sockets of other programs that were given limits.");
  writer.sample({{"when", "connect"}}, at_connect(ArmCounter::armed));
  writer.sample({{"when", "open"}}, open.armed);
  writer.counter("ebbgate_reap_would_arm_sockets",
                 "Open sockets of other programs that would have been given limits, had the policy been to act.");
  writer.sample({}, open.would_arm);
  writer.counter("ebbgate_reap_unarmed_sockets", "Sockets whose programs had set all limits themselves.");
  writer.sample({{"when", "connect"}}, at_connect(ArmCounter::left_alone));
  writer.sample({{"when", "open"}}, open.left_alone);
  writer.counter("ebbgate_reap_arming_refused", "Open sockets that could not be given limits.");
  writer.sample({}, open.refused);
  writer.counter("ebbgate_reap_stalls_limited",
                 "Stalls of sockets with keepalive times of their own that were given a limit.");
  writer.sample({}, at_connect(ArmCounter::stalls_limited) + stalls_limited);
}

}  // namespace ebb::reap
