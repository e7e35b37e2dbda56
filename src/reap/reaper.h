// The reaper: looks at all sockets, judges them, and ends those that have grounds and may be touched.
//
//   look -> judge (judge.h) -> whose is it (owners) -> allowed (allow.h)? -> budget? -> act?
//        -> look again at that very socket -> judge again -> SOCK_DESTROY -> delete its entry of connection tracking
//
// Owned by the command, used on its thread; other threads may call only totals().
#pragma once

#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "reap/allow.h"
#include "reap/budget.h"
#include "reap/endpoints.h"
#include "reap/kernel.h"
#include "reap/totals.h"

namespace ebb::reap {

class Reaper {
 public:
  using Log = std::function<void(const Record&)>;

  Reaper(Kernel& kernel, const base::Clock& clock, Log log) : kernel_(kernel), clock_(clock), log_(std::move(log)) {}

  // Called for each look before decisions; `began` is the time before the look.
  using Sight = std::function<void(base::Instant began, const census::Sample&)>;
  void set_sight(Sight sight) { sight_ = std::move(sight); }
  // Whether the node at an address is reported silent.
  using SilentNode = std::function<bool(const base::Address& end)>;
  void set_silent_nodes(SilentNode silent_node) { silent_node_ = std::move(silent_node); }

  void set_policy(Policy policy);
  void know(Truth truth);
  // A new file was invalid, and the old policy stays.
  void policy_refused();
  void truth_refused();

  // A look and all its actions. The error: nothing could be read.
  std::expected<void, std::string> round();
  // A cheap look without actions: only sockets of namespaces in which connections may have stalled.
  std::expected<census::Sample, std::string> glance();
  // When the next round is due; may be in the past. Soon while sockets to recently departed endpoints may appear, else
  // by the policy.
  base::Instant next_round() const;

  // During a look: whether the policy allows touching a process's socket.
  bool may_touch(const census::Sample& sample, const census::Socket& socket, const census::Process& process) const;

  const Policy& policy() const { return policy_; }
  const std::vector<std::string>& notes() const { return notes_; }  // parts that the last look could not see
  Totals totals() const;                                            // any thread

 private:
  struct Found {
    std::uint32_t index;
    Finding finding;
  };

  bool may_allow(std::string_view netns) const { return may_allow_in(policy_.allow, netns); }
  std::optional<Finding> find_grounds(const census::Socket& socket, const census::Limits& limits) const;
  std::vector<Found> judge_all(const census::Sample& sample) const;
  void forget_settled(const census::Sample& sample, const std::vector<Found>& found);
  bool is_settled(const census::Socket& socket);  // a new decision on it is not possible
  void decide(const census::Sample& sample, const Found& found, const census::Owners& owners);
  Record decide_on(const census::Sample& sample, const Found& found, Owner owner);
  void end(const census::Limits& limits, Record& record);
  Owner owner_of(const census::Sample& sample, const census::Socket& socket, const census::Owners& owners);
  void name_owner(Owner& owner, const census::Process& process) const;
  bool is_allowed(const census::Socket& socket, const Owner& owner) const;

  Kernel& kernel_;
  const base::Clock& clock_;
  const Log log_;
  Sight sight_ = [](base::Instant, const census::Sample&) {};
  SilentNode silent_node_ = [](const base::Address&) { return false; };
  Policy policy_;
  Endpoints endpoints_;
  std::vector<Place> places_;
  Budget budget_;
  // The last decision on a socket that is found repeatedly, by cookie; each is logged once.
  std::unordered_map<std::uint64_t, Outcome> settled_;
  std::vector<std::string> notes_;
  std::optional<base::Instant> looked_at_;  // empty: a look is due
  base::Instant rests_until_{};             // no look before that, whatever is due
  base::Instant calm_until_{};              // the same, if nothing is expected

  mutable std::mutex mutex_;
  Totals totals_;  // guarded
};

}  // namespace ebb::reap
