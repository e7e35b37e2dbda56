#include "reap/open_arms.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <utility>

#include "census/classify.h"
#include "census/twins.h"
#include "reap/outgoing.h"

namespace ebb::reap {
namespace {

std::optional<census::Options> read_options(int twin) {
  const auto idle = census::read_option(twin, IPPROTO_TCP, TCP_KEEPIDLE);
  const auto interval = census::read_option(twin, IPPROTO_TCP, TCP_KEEPINTVL);
  const auto probes = census::read_option(twin, IPPROTO_TCP, TCP_KEEPCNT);
  const auto timeout = census::read_option(twin, IPPROTO_TCP, TCP_USER_TIMEOUT);
  if (!idle || !interval || !probes || !timeout) return std::nullopt;
  return census::Options{.known = true,
                         .keepalive_idle_s = *idle,
                         .keepalive_interval_s = *interval,
                         .keepalive_probes = static_cast<std::uint8_t>(*probes),  // 127 at most
                         .user_timeout_ms = *timeout,
                         .rto_max_ms = census::read_option(twin, IPPROTO_TCP, census::tcp_rto_max_ms).value_or(0)};
}

using census::set_option;

bool carry_out(const ArmPlan& plan, const ArmLimits& limits, int twin) {
  bool done = true;
  if (plan.keepalive) {
    done = set_option(twin, IPPROTO_TCP, TCP_KEEPIDLE, limits.keepalive_idle_s) &&
           set_option(twin, IPPROTO_TCP, TCP_KEEPINTVL, limits.keepalive_interval_s) &&
           set_option(twin, IPPROTO_TCP, TCP_KEEPCNT, limits.keepalive_probes) &&
           set_option(twin, SOL_SOCKET, SO_KEEPALIVE, 1);
  }
  if (plan.user_timeout) done = done && set_option(twin, IPPROTO_TCP, TCP_USER_TIMEOUT, limits.user_timeout_ms);
  if (plan.rto_max) done = done && set_option(twin, IPPROTO_TCP, census::tcp_rto_max_ms, limits.rto_max_ms);
  return done;
}

bool can_be_armed(const census::Socket& socket) {
  const bool lives = census::is_open(socket.state) || socket.state == census::State::syn_sent;
  return lives && socket.inode != 0 && !socket.peer.is_loopback();
}

}  // namespace

void OpenArms::arm(int twin, const census::Process& process, const census::Socket& socket, ArmCounts& counts) {
  const auto options = read_options(twin);
  if (!options) {
    ++counts.refused;
    return;
  }
  ArmPlan plan = plan_arms(*options);
  if (deed_ == ArmDeed::say) {
    ++(plan.nothing() ? counts.left_alone : counts.would_arm);
    return;
  }
  const bool limited = options->user_timeout_ms == stall_timeout_ms(limits_);  // not lifted by an earlier process
  if (std::exchange(plan.user_timeout_in_stalls, false) || limited) stalls_.follow(process, socket, limited);
  if (plan.nothing()) {
    ++counts.left_alone;
  } else {
    ++(carry_out(plan, limits_, twin) ? counts.armed : counts.refused);
  }
}

std::vector<census::Socket> OpenArms::take_fresh(const census::Sample& sample) {
  const Outgoing outgoing(sample);
  std::unordered_set<std::uint64_t> seen;
  std::vector<census::Socket> fresh;
  for (const census::Socket& socket : sample.sockets) {
    if (!can_be_armed(socket)) continue;
    seen.insert(socket.cookie);
    if (!seen_.contains(socket.cookie) && outgoing.contains(socket)) fresh.push_back(socket);
  }
  seen_ = std::move(seen);
  return fresh;
}

std::vector<ArmedProcess> OpenArms::arm_all(std::vector<census::Socket> fresh, const census::Owners& owners,
                                            const Allows& allows) {
  const auto ourselves = static_cast<std::uint32_t>(::getpid());
  census::Twins twins;
  std::map<std::uint32_t, ArmedProcess> done;  // by process
  for (census::Socket& socket : fresh) {
    const census::Holder holder = owners.holder_of(socket.inode);
    if (holder.process == census::no_index) continue;
    const census::Process& process = owners.processes[holder.process];
    if (process.pid == ourselves || !allows(socket, process)) continue;
    socket.fd = holder.fd;
    const reactor::Descriptor twin = twins.open(process, socket);
    arm(twin.get(), process, socket, done.try_emplace(holder.process, ArmedProcess{process, {}}).first->second.counts);
  }
  std::vector<ArmedProcess> result;
  for (auto& [index, each] : done) result.push_back(std::move(each));
  return result;
}

ArmSweep OpenArms::sweep(const census::Sample& sample, const FindOwners& find_owners, const Allows& allows) {
  ArmSweep sweep;
  std::vector<census::Socket> fresh = take_fresh(sample);
  if (!fresh.empty()) sweep.processes = arm_all(std::move(fresh), find_owners(), allows);
  sweep.stalls_limited = stalls_.sweep(sample);
  return sweep;
}

}  // namespace ebb::reap
