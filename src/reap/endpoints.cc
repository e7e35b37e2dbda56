#include "reap/endpoints.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ebb::reap {
namespace {

bool same_host(base::Address a, base::Address b) {
  a.set_port(0);
  b.set_port(0);
  return a == b;
}

}  // namespace

void Endpoints::know(const Truth& truth, base::Instant now) {
  const Services before = std::exchange(services_, {});
  std::ranges::fill(counts_, 0);
  service_at_.clear();
  for (const Service& service : truth.services) {
    Known& known = services_[service.name];
    for (const base::Address& address : service.addresses) service_at_[address] = service.name;
    for (const Endpoint& endpoint : service.endpoints) {
      known.endpoints[endpoint.address] = {endpoint.state, now, endpoint.grace.value_or(service.grace)};
      if (endpoint.state == Presence::ready && !known.ready_since) known.ready_since = now;
      ++counts_[static_cast<std::size_t>(endpoint.state)];
    }
    const auto earlier = before.find(service.name);
    if (earlier != before.end()) remember(earlier->second, known, now);
  }
  if (truth.gone != gone_) gone_since_ = now;
  gone_ = truth.gone;
  index();
}

void Endpoints::remember(const Known& earlier, Known& known, base::Instant now) {
  if (known.ready_since && earlier.ready_since) known.ready_since = earlier.ready_since;
  for (const auto& [address, since] : earlier.removed) {
    if (now - since < remembered && !known.endpoints.contains(address)) known.removed[address] = since;
  }
  for (const auto& [address, seen] : earlier.endpoints) {
    const auto same = known.endpoints.find(address);
    if (same == known.endpoints.end()) {
      known.removed[address] = now;
    } else if (same->second.state == seen.state) {
      same->second.since = seen.since;
    }
  }
}

void Endpoints::index() {
  services_of_.clear();
  departures_.clear();
  if (gone_since_) departures_.push_back(*gone_since_);
  for (const auto& [name, known] : services_) {
    for (const auto& [address, seen] : known.endpoints) {
      services_of_[address].push_back(name);
      if (seen.state != Presence::ready) departures_.push_back(seen.since);
      if (seen.state == Presence::leaving) departures_.push_back(seen.since + seen.grace);
    }
    for (const auto& [address, since] : known.removed) {
      services_of_[address].push_back(name);
      if (known.ready_since) departures_.push_back(std::max(since, *known.ready_since));
    }
  }
  std::ranges::sort(departures_);
}

StandingOf Endpoints::standing(const Seen& seen, std::string_view service, base::Instant now) {
  switch (seen.state) {
    case Presence::ready: return {Standing::serving, service, seen.since};
    case Presence::gone: return {Standing::gone_listed, service, seen.since};
    case Presence::leaving: break;
  }
  if (now - seen.since < seen.grace) return {Standing::leaving, service, seen.since};
  return {Standing::past_grace, service, seen.since + seen.grace};
}

StandingOf Endpoints::standing_of(const census::Socket& socket, base::Instant now) const {
  const auto lists_it = [&socket](const census::GonePeers& list) { return list.contains(socket.far_end()); };
  if (std::ranges::any_of(gone_, lists_it)) return {Standing::gone_listed, {}, gone_since_};
  if (socket.real_peer.valid()) {
    const auto service = service_at_.find(socket.peer);
    if (service != service_at_.end()) return behind_service(service->second, socket, now);
  }
  return direct(socket.far_end(), now);
}

StandingOf Endpoints::behind_service(const std::string& service, const census::Socket& socket,
                                     base::Instant now) const {
  const auto& [name, known] = *services_.find(service);
  const auto listed = known.endpoints.find(socket.real_peer);
  if (listed != known.endpoints.end()) return standing(listed->second, name, now);
  // A proxy beside the program (a sidecar) accepted the connection: its own socket shows the real peer.
  if (socket.real_peer.is_loopback() || same_host(socket.real_peer, socket.local)) return {};
  if (!known.ready_since) return {};
  const auto removed = known.removed.find(socket.real_peer);
  if (removed == known.removed.end()) return {Standing::removed, name, std::nullopt};
  return {Standing::removed, name, removed->second};
}

// If several services have the endpoint, use the best standing: any of them may be meant.
StandingOf Endpoints::direct(const base::Address& end, base::Instant now) const {
  const auto found = services_of_.find(end);
  if (found == services_of_.end()) return {};
  std::optional<StandingOf> best;
  const auto consider = [&best](const StandingOf& one) {
    if (!best || one.standing < best->standing) best = one;
  };
  for (const std::string& service : found->second) {
    const auto& [name, known] = *services_.find(service);
    const auto listed = known.endpoints.find(end);
    if (listed != known.endpoints.end()) {
      consider(standing(listed->second, name, now));
      continue;
    }
    const auto removed = known.removed.find(end);
    const bool lately = removed != known.removed.end() && now - removed->second < remembered;
    consider(lately && known.ready_since ? StandingOf{Standing::removed, name, removed->second} : StandingOf{});
  }
  return best.value_or(StandingOf{});
}

std::optional<base::Instant> Endpoints::last_departure(base::Instant now) const {
  const auto later = std::ranges::upper_bound(departures_, now);
  return later == departures_.begin() ? std::nullopt : std::optional(*std::prev(later));
}

std::optional<base::Instant> Endpoints::next_departure(base::Instant now) const {
  const auto later = std::ranges::upper_bound(departures_, now);
  return later == departures_.end() ? std::nullopt : std::optional(*later);
}

}  // namespace ebb::reap
