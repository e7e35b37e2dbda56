#include "reap/reaper.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace ebb::reap {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// After a departure: connections may still be opening, or rules may follow the list slowly.
struct Pace {
  base::Duration within;
  base::Duration every;
};
constexpr Pace paces[] = {
    {milliseconds{500}, milliseconds{100}}, {seconds{2}, milliseconds{250}}, {seconds{10}, seconds{1}}};
constexpr base::Duration pace_while_leaving = seconds{1};  // to check whether leaving peers still answer
constexpr int rest_factor = 2;   // after a look, pause for twice its time: at most a third of a core
constexpr int calm_factor = 50;  // if nothing is expected, looks take at most a fiftieth of the time

}  // namespace

void Reaper::set_policy(Policy policy) {
  policy_ = std::move(policy);
  settled_.clear();  // decide and report everything anew under the new policy
  looked_at_.reset();
  const std::lock_guard lock(mutex_);
  totals_.acting = policy_.act;
}

void Reaper::know(Truth truth) {
  endpoints_.know(truth, clock_.now());
  places_ = std::move(truth.places);
  std::erase_if(settled_, [](const auto& one) { return one.second == Outcome::not_allowed; });  // labels may be new
  looked_at_.reset();
  const std::lock_guard lock(mutex_);
  totals_.endpoints = {endpoints_.count(Presence::ready), endpoints_.count(Presence::leaving),
                       endpoints_.count(Presence::gone)};
}

void Reaper::policy_refused() {
  const std::lock_guard lock(mutex_);
  ++totals_.policy_refused;
}

void Reaper::truth_refused() {
  const std::lock_guard lock(mutex_);
  ++totals_.truth_refused;
}

Totals Reaper::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

base::Instant Reaper::next_round() const {
  if (!looked_at_) return rests_until_;
  base::Instant next = std::max(*looked_at_ + policy_.every, calm_until_);
  if (const auto last = endpoints_.last_departure(*looked_at_)) {
    const base::Duration since = *looked_at_ - *last;
    const auto* const pace = std::ranges::find_if(paces, [since](const Pace& one) { return since < one.within; });
    if (pace != std::end(paces)) next = std::min(next, *looked_at_ + pace->every);
  }
  if (const auto departure = endpoints_.next_departure(*looked_at_)) {
    next = std::min({next, *departure, *looked_at_ + pace_while_leaving});
  }
  return std::max(next, rests_until_);
}

std::expected<void, std::string> Reaper::round() {
  const base::Instant begin = clock_.now();
  looked_at_ = begin;
  auto sample = kernel_.look([this](std::string_view netns) { return may_allow(netns); });
  std::vector<Found> found;
  if (sample) {
    sight_(begin, *sample);
    found = judge_all(*sample);
  }
  const base::Instant judged = clock_.now();
  if (sample) {
    forget_settled(*sample, found);
    const auto is_new = [&](const Found& one) { return !is_settled(sample->sockets[one.index]); };
    if (std::ranges::any_of(found, is_new)) {
      const census::Owners owners = kernel_.owners();
      for (const Found& one : found) decide(*sample, one, owners);
    }
  }
  kernel_.leave();
  const base::Instant end = clock_.now();
  rests_until_ = end + rest_factor * (judged - begin);
  calm_until_ = begin + calm_factor * (judged - begin);
  const std::lock_guard lock(mutex_);
  ++totals_.looks;
  totals_.look_ns += static_cast<std::uint64_t>((end - begin).count());
  if (!sample) {
    ++totals_.looks_failed;
    return std::unexpected(sample.error());
  }
  totals_.sockets = sample->sockets.size();
  totals_.found = found.size();
  notes_ = std::move(sample->notes);
  return {};
}

std::expected<census::Sample, std::string> Reaper::glance() {
  const base::Instant begin = clock_.now();
  auto sample = kernel_.glance([this](std::string_view netns) { return may_allow(netns); });
  kernel_.leave();
  const std::lock_guard lock(mutex_);
  ++totals_.looks;
  totals_.look_ns += static_cast<std::uint64_t>((clock_.now() - begin).count());
  if (!sample) ++totals_.looks_failed;
  return sample;
}

std::optional<Finding> Reaper::find_grounds(const census::Socket& socket, const census::Limits& limits) const {
  auto finding = judge(socket, limits, policy_.end, endpoints_, clock_.now());
  if (!finding && policy_.end.silent_nodes && silent_node_(socket.far_end())) {
    finding = judge_silent_node(socket, policy_.end);
  }
  return finding;
}

std::vector<Reaper::Found> Reaper::judge_all(const census::Sample& sample) const {
  std::vector<Found> found;
  for (std::uint32_t i = 0; i < sample.sockets.size(); ++i) {
    const census::Socket& socket = sample.sockets[i];
    if (auto finding = find_grounds(socket, sample.limits_of(socket))) {
      found.push_back({i, std::move(*finding)});
    }
  }
  return found;
}

// Bounds the table by the existing sockets.
void Reaper::forget_settled(const census::Sample& sample, const std::vector<Found>& found) {
  if (settled_.empty()) return;
  std::unordered_set<std::uint64_t> still;
  for (const Found& one : found) still.insert(sample.sockets[one.index].cookie);
  std::erase_if(settled_, [&still](const auto& one) { return !still.contains(one.first); });
}

bool Reaper::is_settled(const census::Socket& socket) {
  const auto found = settled_.find(socket.cookie);
  if (found == settled_.end()) return false;
  if (found->second == Outcome::over_budget) return !budget_.has(policy_.budget, clock_.now());
  return found->second == Outcome::not_allowed || found->second == Outcome::would_end;
}

void Reaper::decide(const census::Sample& sample, const Found& found, const census::Owners& owners) {
  const census::Socket& socket = sample.sockets[found.index];
  if (is_settled(socket)) return;
  const Record record = decide_on(sample, found, owner_of(sample, socket, owners));
  const auto [before, first] = settled_.try_emplace(socket.cookie, record.outcome);
  if (!first && std::exchange(before->second, record.outcome) == record.outcome) return;
  {
    const std::lock_guard lock(mutex_);
    ++totals_.of(record.outcome, record.finding.ground);
  }
  // Sockets that may not be touched are not logged.
  if (record.outcome != Outcome::not_allowed) log_(record);
}

Record Reaper::decide_on(const census::Sample& sample, const Found& found, Owner owner) {
  const census::Socket& socket = sample.sockets[found.index];
  Record record{.at = clock_.wall(), .finding = found.finding, .socket = socket, .owner = std::move(owner)};
  if (!is_allowed(socket, record.owner)) {
    record.outcome = Outcome::not_allowed;
  } else if (!budget_.has(policy_.budget, clock_.now())) {
    record.outcome = Outcome::over_budget;
  } else if (policy_.act) {
    end(sample.limits_of(socket), record);
  } else {
    budget_.spend(clock_.now());
    record.outcome = Outcome::would_end;
  }
  return record;
}

void Reaper::end(const census::Limits& limits, Record& record) {
  const auto failed = [&record](int error) {
    record.outcome = error == ENOENT ? Outcome::vanished : Outcome::failed;
    record.error = error == ENOENT ? 0 : error;
  };
  const auto fresh = kernel_.look_again(record.socket);
  if (!fresh) return failed(fresh.error());
  record.socket = fresh->socket;
  const auto finding = find_grounds(fresh->socket, limits);
  if (!finding) {
    record.outcome = Outcome::recovered;
    return;
  }
  record.finding = *finding;
  const auto destroyed = kernel_.destroy(fresh->socket);
  if (!destroyed) return failed(destroyed.error());
  budget_.spend(clock_.now());
  // After the end: its RST reaches the peer through the entry.
  record.entry_deleted = kernel_.forget(*fresh);
  record.outcome = Outcome::ended;
}

Owner Reaper::owner_of(const census::Sample& sample, const census::Socket& socket, const census::Owners& owners) {
  Owner owner{.netns = sample.spaces[socket.space].name};
  const census::Holder holder = owners.holder_of(socket.inode);
  if (holder.process == census::no_index) return owner;
  name_owner(owner, owners.processes[holder.process]);
  return owner;
}

void Reaper::name_owner(Owner& owner, const census::Process& process) const {
  owner.process = process.name;
  owner.pid = process.pid;
  owner.cgroup = kernel_.cgroup_of(process.pid);
}

bool Reaper::may_touch(const census::Sample& sample, const census::Socket& socket,
                       const census::Process& process) const {
  Owner owner{.netns = sample.spaces[socket.space].name};
  name_owner(owner, process);
  return is_allowed(socket, owner);
}

bool Reaper::is_allowed(const census::Socket& socket, const Owner& owner) const {
  std::vector<Label> labels;
  for (const Place& place : places_) {
    if (is_at(place, owner.netns, owner.cgroup)) {
      labels.insert(labels.end(), place.labels.begin(), place.labels.end());
    }
  }
  return allowed_by(policy_.allow, {.netns = owner.netns,
                                    .process = owner.process,
                                    .cgroup = owner.cgroup,
                                    .uid = socket.uid,
                                    .peer = socket.peer,
                                    .real_peer = socket.real_peer,
                                    .labels = labels}) != nullptr;
}

}  // namespace ebb::reap
