// What goes wrong on the way between two kernels, and when each of them gives up; see network.h.
#include <algorithm>

#include "sim/network.h"

namespace ebb::sim {

namespace {

bool same_host(const base::Address& a, const base::Address& b) {
  base::Address x = a, y = b;
  x.set_port(0);
  y.set_port(0);
  return x == y;
}

constexpr Duration retransmission_max = milliseconds{400};  // until a way that is open again is noticed

}  // namespace

Way Network::way_to(const base::Address& host) const {
  const auto known = std::ranges::find_if(ways_, [&](const auto& way) { return same_host(way.first, host); });
  return known == ways_.end() ? Way::open : known->second;
}

void Network::set_way(const base::Address& host, Way way) {
  std::erase_if(ways_, [&](const auto& known) { return same_host(known.first, host); });
  if (way != Way::open) ways_.emplace_back(host, way);
  world_.note("way to host", host.port(), static_cast<std::uint64_t>(way));
  const bool passes = way == Way::open || way == Way::loses_fins;
  ends_.for_each([&](base::Handle, End& end) {
    if (!same_host(end.from, host) && !same_host(end.remote, host)) return;
    if (passes) {
      brighten(end);
    } else {
      darken(end);
    }
  });
}

void Network::forget_journey(End& end) {
  end.journey += 1;
  end.segments.clear();
  end.sent -= end.in_flight;
  end.in_flight = 0;
  if (!end.finish_arrived) end.finish_sent = false;
}

void Network::darken(End& end) {
  if (end.dark || end.state == State::dead) return;
  end.dark = true;
  forget_journey(end);
  arm_user_timeout(end);
  check_keepalive(end.self);
}

// What was lost is sent again.
void Network::brighten(End& end) {
  if (end.lost || end.state == State::dead) return;
  end.dark = false;
  forget_journey(end);
  if (end.state == State::connecting) return;  // its SYN is sent again in any case
  confirm_later(end);
  const EndId id = end.self;
  world_.after(world_.draw({}, retransmission_max), [this, id] {
    if (End* found = ends_.find(id)) transmit(*found);
  });
  // The peer went while nothing passed: the next keepalive is answered by a reset.
  if (ends_.find(end.peer) == nullptr) {
    world_.after(end.limits.keepalive_idle, [this, id] { reset_arrives(id); });
  }
}

void Network::black_hole(EndId id) {
  End* end = ends_.find(id);
  if (end == nullptr || end->lost) return;
  world_.note("black hole", id.slot);
  for (const EndId side : {id, end->peer}) {
    End* each = ends_.find(side);
    if (each == nullptr) continue;
    each->lost = true;
    darken(*each);
  }
}

void Network::sever(EndId id) {
  End* end = ends_.find(id);
  if (end == nullptr || end->state != State::open || end->dark) return;
  world_.note("severed", id.slot);
  const EndId peer = end->peer;
  die(*end, ECONNRESET);
  if (End* other = ends_.find(peer)) die(*other, ECONNRESET);
}

// Also in a zero window: tcp_probe_timer() gives up after the user timeout even though the peer answers the probes.
void Network::arm_user_timeout(End& end) {
  const bool waits = !end.output.empty() || (end.finish_wanted && !end.finish_arrived);
  if (!waits || end.timeout_armed) return;
  end.timeout_armed = true;
  const EndId id = end.self;
  world_.at(end.progress + end.limits.user_timeout, [this, id] { check_user_timeout(id); });
}

void Network::check_user_timeout(EndId id) {
  End* end = ends_.find(id);
  if (end == nullptr || end->state != State::open) return;
  end->timeout_armed = false;
  const bool waits = !end->output.empty() || (end->finish_wanted && !end->finish_arrived);
  if (waits && world_.now() - end->progress >= end->limits.user_timeout) {
    die(*end, ETIMEDOUT);
    return;
  }
  arm_user_timeout(*end);
}

// With TCP_USER_TIMEOUT set, keepalive gives up at the first probe interval past it (tcp_keepalive_timer).
void Network::check_keepalive(EndId id) {
  const reactor::SocketLimits& limits = get(id).limits;
  const Duration patience = std::max(limits.keepalive_idle + limits.keepalive_interval, limits.user_timeout);
  world_.after(patience, [this, id, journey = get(id).journey] {
    End* end = ends_.find(id);
    if (end != nullptr && end->state == State::open && end->journey == journey) die(*end, ETIMEDOUT);
  });
}

}  // namespace ebb::sim
