#include "census/give_up.h"

#include <algorithm>
#include <bit>

namespace ebb::census {
namespace {

constexpr std::int64_t rto_min_ms = 200;             // TCP_RTO_MIN: the kernel's model uses this, not the socket's RTO
constexpr std::int64_t rto_init_ms = 1000;           // TCP_TIMEOUT_INIT
constexpr std::uint32_t orphan_retries_default = 8;  // tcp_orphan_retries()

bool is_handshake(State state) {
  return state == State::syn_sent || state == State::syn_recv || state == State::new_syn_recv;
}

std::int64_t rto_max_of(const Socket& socket, const Limits& limits) {
  const std::uint32_t own = socket.options.known ? socket.options.rto_max_ms : 0;
  return std::max<std::int64_t>(own != 0 ? own : limits.rto_max_ms, rto_min_ms);
}

std::int64_t user_timeout_of(const Socket& socket) {
  return socket.options.known ? std::int64_t{socket.options.user_timeout_ms} : 0;
}

std::int64_t time_outs_ms(const Socket& socket, std::int64_t rto_max) {
  if (socket.stalls == 1) return socket.stalled_ms;
  // Older kernels, and sockets with earlier stalls: the least time that the time-outs so far took together.
  const std::int64_t rto = socket.rto_us / 1000;
  std::int64_t gap =
      std::max<std::int64_t>(rto_min_ms, (socket.rtt_us + 4 * std::int64_t{socket.rtt_variance_us}) / 1000);
  if (rto < rto_max && socket.backoff < 32) gap = std::max(gap, rto >> socket.backoff);
  std::int64_t passed = std::max<std::int64_t>(0, rto - std::int64_t{socket.timer_ms});
  for (std::uint32_t i = 1; i < socket.retransmits; ++i) {
    gap = std::min(gap * 2, rto_max);
    passed += gap;
  }
  return passed;
}

// The first tick of the retransmission timer at or after `end`: first at `tick`, then after doubling gaps.
std::int64_t tick_beyond(std::int64_t tick, std::int64_t gap, std::int64_t gap_max, std::int64_t end) {
  while (tick < end && gap < gap_max) {
    tick += fires_after_ms(gap);
    gap = std::min(gap * 2, gap_max);
  }
  const std::int64_t step = fires_after_ms(gap);
  if (tick < end) tick += (end - tick + step - 1) / step * step;
  return tick;
}

// When the running timer will fire; it was armed for `gap`.
std::int64_t next_tick(const Socket& socket, std::int64_t gap) {
  return std::int64_t{socket.timer_ms} + fires_after_ms(gap) - gap;
}

GiveUp by_retransmission(const Socket& socket, const Limits& limits) {
  const std::int64_t rto_max = rto_max_of(socket, limits);
  const std::int64_t rto = std::max<std::int64_t>(1, socket.rto_us / 1000);
  const std::int64_t next = next_tick(socket, rto);
  const std::int64_t budget = retry_budget_ms(socket, limits);
  const std::int64_t doubled = std::min(rto * 2, rto_max);
  const bool begun = socket.retransmits > 0;
  // The time counts from the first retransmission (retrans_stamp), and is checked only when the timer fires.
  const std::int64_t end = begun ? budget - time_outs_ms(socket, rto_max) : next + budget;
  if (user_timeout_of(socket) != 0) {
    // The kernel arms the timer to fire exactly at the end (tcp_clamp_rto_to_user_timeout), unless it already runs.
    return {Ending::user_timeout, std::max(next, end)};
  }
  if (begun) return {Ending::retransmissions, tick_beyond(next, doubled, rto_max, end)};
  const std::int64_t second = next + fires_after_ms(doubled);
  return {Ending::retransmissions, tick_beyond(second, std::min(doubled * 2, rto_max), rto_max, end)};
}

GiveUp by_syn(const Socket& socket, const Limits& limits) {
  const std::int64_t rto_max = rto_max_of(socket, limits);
  const std::uint32_t retries =
      socket.options.known && socket.options.syn_retries != 0 ? socket.options.syn_retries : limits.syn_retries;
  const std::int64_t user_timeout = user_timeout_of(socket);
  const std::int64_t budget = user_timeout != 0 ? user_timeout : model_ms(retries, rto_init_ms, rto_max);
  const std::uint32_t ticks_max = retries + limits.syn_linear_timeouts;
  // Since connect(): the first SYNs are sent at equal intervals (tcp_syn_linear_timeouts), later intervals double.
  std::int64_t at = rto_init_ms;
  std::int64_t gap = rto_init_ms;
  std::int64_t now = 0;
  for (std::uint32_t fired = 0;; ++fired) {
    if (fired == socket.timer_count) now = at - std::int64_t{socket.timer_ms};
    if (fired >= socket.timer_count && fired > 0 && (fired >= ticks_max || at >= budget)) break;
    if (fired >= limits.syn_linear_timeouts) gap = std::min(gap * 2, rto_max);
    const std::int64_t left = budget - at;
    at += fires_after_ms(user_timeout != 0 ? std::clamp<std::int64_t>(left, 1, gap) : gap);
  }
  return {user_timeout != 0 && at < model_ms(retries, rto_init_ms, rto_max) ? Ending::user_timeout : Ending::handshake,
          std::max<std::int64_t>(socket.timer_ms, at - now)};
}

// Request sockets: SYN-ACKs at 1, 3, 7, ... seconds (reqsk_timer_handler).
GiveUp by_syn_ack(const Socket& socket, const Limits& limits) {
  std::int64_t at = socket.timer_ms;
  for (std::uint32_t fired = socket.timer_count; fired < limits.synack_retries; ++fired) {
    at += fires_after_ms(std::min<std::int64_t>(rto_init_ms << std::min(fired + 1, 16U), limits.rto_max_ms));
  }
  return {Ending::handshake, at};
}

GiveUp by_zero_window(const Socket& socket, const Limits& limits) {
  const std::int64_t rto_max = rto_max_of(socket, limits);
  const std::int64_t base = std::max<std::int64_t>(socket.rto_us / 1000, rto_min_ms);
  const std::int64_t user_timeout = user_timeout_of(socket);
  const bool orphan = socket.abandoned();
  const std::uint32_t probes_max = !orphan                      ? limits.retries2
                                   : limits.orphan_retries != 0 ? limits.orphan_retries
                                                                : orphan_retries_default;
  std::int64_t at = socket.timer_ms;
  std::uint32_t backoff = socket.backoff;
  std::uint32_t probes = socket.timer_count;
  std::int64_t waited = 0;  // since the first unanswered probe
  for (std::uint32_t i = 1; i <= probes; ++i) {
    const std::uint32_t then = backoff >= i - 1 ? backoff - (i - 1) : 0;
    waited += std::min(base << std::min(then, 20U), rto_max);
  }
  if (probes > 0) waited = std::max<std::int64_t>(0, waited - at);
  if (user_timeout != 0) {
    return {Ending::user_timeout, probes > 0 ? std::max(at, user_timeout - waited) : at + user_timeout};
  }
  for (; probes < probes_max; ++probes) {
    if (backoff < limits.retries2) ++backoff;
    at += fires_after_ms(std::min(base << std::min(backoff, 20U), rto_max));
  }
  return {Ending::zero_window, at};
}

// tcp_keepalive_timer: the timer is lazy and checks the idle time only when it fires.
GiveUp by_keepalive(const Socket& socket, const Limits& limits) {
  const Options& options = socket.options;
  const std::int64_t idle = 1000 * std::int64_t{options.known ? options.keepalive_idle_s : limits.keepalive_time_s};
  const std::int64_t interval =
      fires_after_ms(1000 * std::int64_t{options.known ? options.keepalive_interval_s : limits.keepalive_interval_s});
  const std::int64_t probes_max = options.known ? options.keepalive_probes : limits.keepalive_probes;
  const std::int64_t silence = std::min(socket.last_received_ms, socket.last_acknowledged_ms);
  const std::int64_t sent = socket.timer_count;
  const std::int64_t first = sent > 0 ? socket.timer_ms : std::max<std::int64_t>(socket.timer_ms, idle - silence);
  const std::int64_t user_timeout = user_timeout_of(socket);
  if (user_timeout == 0) return {Ending::keepalive, first + std::max<std::int64_t>(0, probes_max - sent) * interval};
  // With TCP_USER_TIMEOUT the number of probes does not count: the first tick after a probe with enough silence ends
  // it.
  const std::int64_t earliest = sent > 0 ? first : first + interval;
  const std::int64_t missing = std::max<std::int64_t>(0, user_timeout - silence - earliest);
  return {Ending::user_timeout, earliest + (missing + interval - 1) / interval * interval};
}

GiveUp without_doubt(const Socket& socket, const Limits& limits) {
  switch (socket.timer) {
    case Timer::time_wait: return {Ending::time_wait, socket.timer_ms};
    case Timer::retransmit:
      if (socket.state == State::syn_sent) return by_syn(socket, limits);
      if (is_handshake(socket.state)) return by_syn_ack(socket, limits);
      return by_retransmission(socket, limits);
    case Timer::persist: return by_zero_window(socket, limits);
    case Timer::keepalive: return by_keepalive(socket, limits);
    case Timer::none: break;
  }
  return {};
}

}  // namespace

std::int64_t fires_after_ms(std::int64_t ms) {
  constexpr std::int64_t jiffy_ms = 4;  // CONFIG_HZ=250; other values shift the levels, not the proportion
  std::int64_t granularity = jiffy_ms;
  for (std::int64_t level_end = 63 * jiffy_ms; ms >= level_end && level_end < (std::int64_t{1} << 40); level_end *= 8) {
    granularity *= 8;
  }
  return std::max<std::int64_t>(ms, 0) + granularity / 2;
}

std::int64_t model_ms(std::uint32_t boundary, std::int64_t base_ms, std::int64_t rto_max_ms) {
  const auto ratio = static_cast<std::uint64_t>(std::max<std::int64_t>(1, rto_max_ms / base_ms));
  const auto doublings = static_cast<std::uint32_t>(std::bit_width(ratio) - 1);
  if (boundary <= doublings) return ((std::int64_t{2} << boundary) - 1) * base_ms;
  return ((std::int64_t{2} << doublings) - 1) * base_ms + (std::int64_t{boundary} - doublings) * rto_max_ms;
}

std::int64_t stalled_ms(const Socket& socket, const Limits& limits) {
  if (socket.timer == Timer::retransmit) return time_outs_ms(socket, rto_max_of(socket, limits));
  const std::uint32_t interval =
      socket.options.known ? socket.options.keepalive_interval_s : limits.keepalive_interval_s;
  return std::max<std::int64_t>(0, std::int64_t{socket.timer_count} * interval * 1000 - socket.timer_ms);
}

std::int64_t retry_budget_ms(const Socket& socket, const Limits& limits) {
  if (const std::int64_t user_timeout = user_timeout_of(socket)) return user_timeout;
  std::uint32_t boundary = limits.retries2;
  if (socket.abandoned()) boundary = limits.orphan_retries != 0 ? limits.orphan_retries : orphan_retries_default;
  return model_ms(boundary, rto_min_ms, rto_max_of(socket, limits));
}

GiveUp give_up(const Socket& socket, const Limits& limits) {
  GiveUp result = without_doubt(socket, limits);
  const bool kernel_only = socket.timer == Timer::time_wait || socket.state == State::new_syn_recv;
  result.assumed = !socket.options.known && !kernel_only && result.ending != Ending::never;
  return result;
}

}  // namespace ebb::census
