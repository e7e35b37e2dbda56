#include "gate/endpoints.h"

#include <algorithm>

#include "gate/backends.h"
#include "gate/checks.h"
#include "gate/datagrams.h"
#include "gate/exchanges.h"
#include "gate/h2_backends.h"
#include "gate/health.h"
#include "gate/moves.h"
#include "gate/witnesses.h"
#include "gate/worker.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Health;
using lifecycle::Membership;
using lifecycle::Standing;
using lifecycle::Wish;

namespace {

constexpr std::size_t cut_max = 10'000;  // endpoints; as many as there may be drains

}  // namespace

void Endpoints::enter(LocalSnapshot& snapshot) {
  views_.for_each([](Handle, BackendView& view) { view.listed = false; });
  const std::vector<routes::Backend>& backends = snapshot.snapshot().backends();
  const auto& lists = snapshot.configuration().endpoints;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    const routes::BackendModel& model = backends[i].model;
    const Handle handle = view_named(model.name);
    BackendView& view = *views_.find(handle);
    view.listed = true;
    view.limits = model.endpoint_limits;
    view.evidence = model.evidence;
    view.drain_deadline = model.drain_deadline;
    view.sticky = model.sticky.has_value();
    snapshot.views.push_back(handle);
    take_manner(view, snapshot, static_cast<std::uint32_t>(i));
    snapshot.manners.push_back(view.manner_number);
    const bool was_checked = view.check != nullptr;
    view.check = check_target(snapshot, static_cast<std::uint32_t>(i));
    take_list(handle, i < lists.size() ? *lists[i] : endpoint_list(backends[i]));
    if (was_checked && view.check == nullptr) core_.checks->follow(handle);
  }
  unlisted_.clear();
  views_.for_each([this](Handle handle, BackendView& view) {
    if (!view.listed) unlisted_.push_back(handle);
  });
  for (const Handle handle : unlisted_) take_list(handle, {});
}

// What was opened in another manner serves out what it has and takes nothing new: plain text must not go on because
// there was still a connection for it.
void Endpoints::take_manner(BackendView& view, const LocalSnapshot& snapshot, std::uint32_t backend) {
  const routes::BackendModel& model = snapshot.snapshot().backends()[backend].model;
  const auto tls = snapshot.backend_tls(backend);
  Manner manner{tls == nullptr ? std::string() : tls->fingerprint(), model.protocol, model.proxy_protocol};
  if (view.manner == manner) return;
  view.manner = std::move(manner);
  view.manner_number += 1;
  for (const Handle handle : view.endpoints) {
    LiveEndpoint& endpoint = *endpoints_.find(handle);
    endpoint.manner = view.manner_number;
    endpoint.speaks_h2 = false;
    core_.backends->close_idle(endpoint, Cause::backend_changed);
    core_.h2_backends->retire(endpoint, Cause::backend_changed);
  }
}

Handle Endpoints::view_named(const std::string& name) {
  Handle& handle = by_name_[name];
  if (views_.find(handle) == nullptr) {
    handle = views_.emplace();
    views_.find(handle)->name = name;
  }
  return handle;
}

bool Endpoints::change(const EndpointList& list) {
  const auto known = by_name_.find(list.backend);
  if (known == by_name_.end() || !views_.find(known->second)->listed) return false;
  take_list(known->second, list);
  return true;
}

void Endpoints::take_list(Handle view_handle, const EndpointList& list) {
  BackendView& view = *views_.find(view_handle);
  const std::uint64_t listing = ++version_;
  std::vector<Handle> before = std::exchange(view.endpoints, {});
  view.endpoints.reserve(list.endpoints.size());
  for (const ListedEndpoint& listed : list.endpoints) {
    Handle& handle = by_identity_[listed.identity];
    const bool known = endpoints_.find(handle) != nullptr;
    if (!known) handle = endpoints_.emplace();
    LiveEndpoint& endpoint = *endpoints_.find(handle);
    if (!known) {
      endpoint.self = handle;
      endpoint.view = view_handle;
      endpoint.identity = listed.identity;
      endpoint.address = listed.address;
      endpoint.health_since = core_.reactor.now();
      endpoint.drain_timer.set_owner({owner_endpoint, handle});
      view.members += 1;
    }
    if (known && endpoint.membership == Membership::gone) begin_anew(endpoint);
    // One that has nobody beside it is needed whole.
    const bool returns = known && endpoint.wish == Wish::maint && listed.wish != Wish::maint;
    if ((!known && !before.empty()) || returns) endpoint.warm_since = core_.reactor.now();
    const bool was_draining = known && endpoint.draining();
    if (!known || endpoint.membership != listed.membership || endpoint.wish != listed.wish) note_change(endpoint);
    endpoint.manner = view.manner_number;
    endpoint.label = listed.label;
    endpoint.weight = listed.weight;
    if (endpoint.limit != listed.limit) change_limit(endpoint, listed.limit);
    endpoint.membership = listed.membership;
    endpoint.wish = listed.wish;
    endpoint.listing = listing;
    view.endpoints.push_back(handle);
    drain_or_not(endpoint, was_draining);
  }
  for (const Handle handle : before) {
    const LiveEndpoint* endpoint = endpoints_.find(handle);
    if (endpoint != nullptr && endpoint->listing != listing) leave(handle);
  }
  if (view.check) core_.checks->follow(view_handle);
  wake(view_handle);
}

void Endpoints::begin_anew(LiveEndpoint& endpoint) {
  core_.health->forget(endpoint.identity);
  core_.health->forget_doubt(endpoint);
  endpoint.evidence = {};
  endpoint.survived = {};
  endpoint.order = {};
}

void Endpoints::leave(Handle handle) {
  LiveEndpoint& endpoint = *endpoints_.find(handle);
  core_.checks->stop(endpoint.identity);
  const bool was_draining = endpoint.draining();
  endpoint.membership = Membership::gone;
  note_change(endpoint);
  drain_or_not(endpoint, was_draining);
  settle(handle);
}

// The work that it has may end by itself until the deadline; what waits in the pool is of no more use.
void Endpoints::drain_or_not(LiveEndpoint& endpoint, bool was_draining) {
  if (!endpoint.draining() || !was_draining) cut_.erase(endpoint.identity);
  if (!endpoint.draining()) {
    endpoint.drain_until = endpoint.bound_until = base::Instant::max();
    return endpoint.drain_timer.disarm();
  }
  if (!was_draining) {
    const base::Duration deadline = views_.find(endpoint.view)->drain_deadline;
    endpoint.drain_until = core_.reactor.now() + deadline;
    endpoint.bound_until = core_.reactor.now() + deadline * 9 / 10;
  }
  core_.backends->close_idle(endpoint, endpoint.drain_cause());
  core_.h2_backends->retire(endpoint, endpoint.drain_cause());
  if (endpoint.active > 0) arm_drain(endpoint);
  if (endpoint.witnesses == 0) return;
  core_.witnesses->end(endpoint.self, endpoint.drain_cause());  // it may be gone after that
}

// Work that comes after the deadline has none: its endpoint leaves, but nobody else serves.
void Endpoints::arm_drain(LiveEndpoint& endpoint) {
  if (endpoint.drain_timer.armed() || core_.reactor.now() >= endpoint.drain_until) return;
  core_.reactor.timers().arm(endpoint.drain_timer, endpoint.drain_until);
}

bool Endpoints::attach(LiveEndpoint& endpoint) {
  if (endpoint.witnesses > 0) end_witnesses_for_room(endpoint);
  if (endpoint.limit != nullptr && !endpoint.limit->take()) return false;
  endpoint.active += 1;
  if (endpoint.draining()) arm_drain(endpoint);
  return true;
}

void Endpoints::attach_witness(LiveEndpoint& endpoint) {
  endpoint.active += 1;
  endpoint.witnesses += 1;
}

// The oldest first. Those of other workers are not seen.
void Endpoints::end_witnesses_for_room(const LiveEndpoint& endpoint) {
  for (const Handle witness : core_.witnesses->of(endpoint.self)) {
    if (!full(endpoint)) return;
    core_.exchanges->on_client_left(witness, Cause::backend_silent);
  }
}

bool Endpoints::full(const LiveEndpoint& endpoint) const {
  const routes::EndpointLimitsModel& limits = views_.find(endpoint.view)->limits;
  if (limits.requests > 0 && endpoint.active >= limits.requests) return true;
  if (endpoint.limit != nullptr && !endpoint.limit->room_beside(endpoint.witnesses)) return true;
  const bool needs_connection = endpoint.idle == 0 && endpoint.multiplexed.empty();
  return limits.connections > 0 && needs_connection && endpoint.connections >= limits.connections;
}

void Endpoints::change_limit(LiveEndpoint& endpoint, const std::shared_ptr<SharedLimit>& limit) {
  if (endpoint.limit != nullptr) give_back(*endpoint.limit, endpoint, endpoint.clients());
  endpoint.limit = limit;
  if (limit != nullptr) limit->take_anyway(endpoint.clients());
}

// Where others wait too, they and we are told the same way: else what waits here would always be first.
void Endpoints::give_back(SharedLimit& limit, const LiveEndpoint& endpoint, std::uint32_t places) {
  const std::uint64_t waiting = limit.give_back(places);
  const Siblings& siblings = core_.siblings;
  const bool others = siblings.post && (waiting & ~SharedLimit::mark(siblings.self)) != 0;
  if (!others) return wake(endpoint.view);
  for (std::size_t i = 0; i < siblings.count; ++i) {
    if ((waiting & SharedLimit::mark(i)) == 0 && i != siblings.self) continue;
    siblings.post(i, [identity = endpoint.identity](Worker& worker) { worker.endpoints().wake_identity(identity); });
  }
}

void Endpoints::wake_identity(std::uint64_t identity) {
  if (const LiveEndpoint* const endpoint = find_identity(identity)) wake(endpoint->view);
}

void Endpoints::note_change(LiveEndpoint& endpoint) { endpoint.since = core_.reactor.clock().wall(); }

void Endpoints::set_health(std::uint64_t identity, Health health, Cause why, bool condemn) {
  LiveEndpoint* endpoint = find_identity(identity);
  if (endpoint == nullptr) return;
  version_ += 1;
  if (endpoint->health == Health::down && health != Health::down) endpoint->warm_since = core_.reactor.now();
  if (endpoint->health != health) endpoint->health_since = core_.reactor.now();
  endpoint->health = health;
  endpoint->why = why;
  note_change(*endpoint);
  wake(endpoint->view);
  if (health != Health::down) return;
  const Handle handle = endpoint->self;
  core_.backends->close_idle(*endpoint, why);
  core_.h2_backends->retire(*endpoint, why);
  if (condemn) core_.backends->fail_all(handle, why);
}

void Endpoints::tell_when_idle(std::uint64_t identity, std::move_only_function<void()> callback) {
  LiveEndpoint* endpoint = find_identity(identity);
  if (endpoint == nullptr || endpoint->active == 0) return callback();
  endpoint->when_idle.push_back(std::move(callback));
}

LiveEndpoint* Endpoints::find_identity(std::uint64_t identity) {
  const auto known = by_identity_.find(identity);
  return known == by_identity_.end() ? nullptr : endpoints_.find(known->second);
}

bool Endpoints::has_room(const LiveEndpoint& endpoint) const {
  if (endpoint.limit != nullptr && endpoint.limit->full_for(core_.siblings.self)) return false;
  const routes::EndpointLimitsModel& limits = views_.find(endpoint.view)->limits;
  if (limits.requests > 0 && endpoint.clients() >= limits.requests) return false;
  // Of HTTP/1 a witness has a connection of its own.
  const std::uint32_t give_way = endpoint.multiplexed.empty() ? endpoint.witnesses : 0;
  const bool may_connect = endpoint.connections < limits.connections + give_way;
  if (limits.connections == 0 || may_connect || endpoint.idle > 0) return true;
  return std::any_of(endpoint.multiplexed.begin(), endpoint.multiplexed.end(), [this](Handle handle) {
    const BackendConnection* connection = core_.backends->find(handle);
    return connection != nullptr && connection->h2 && !connection->h2->retired;
  });
}

bool Endpoints::has_room(const BackendView& view) {
  return std::any_of(view.endpoints.begin(), view.endpoints.end(), [this, &view](Handle handle) {
    const LiveEndpoint* endpoint = endpoints_.find(handle);
    if (endpoint == nullptr || !has_room(*endpoint)) return false;
    const bool takes_new = endpoint->weight > 0 && endpoint->standing() != Standing::unavailable;
    // Its own clients may be among those that wait.
    return takes_new || (view.sticky && endpoint->wish != Wish::maint);
  });
}

void Endpoints::detach(Handle handle, Work work) {
  LiveEndpoint* endpoint = endpoints_.find(handle);
  if (endpoint == nullptr) return;
  endpoint->active -= 1;
  if (work == Work::of_witness) endpoint->witnesses -= 1;
  if (endpoint->limit != nullptr && work == Work::of_client) {
    give_back(*endpoint->limit, *endpoint, 1);
  } else {
    wake(endpoint->view);
  }
  const bool has_left = endpoint->membership == Membership::gone;
  if (endpoint->active == 0) {
    endpoint->drain_timer.disarm();
    for (auto& callback : std::exchange(endpoint->when_idle, {})) callback();
  }
  if (has_left) settle(handle);
}

void Endpoints::settle(Handle handle) {
  const LiveEndpoint* endpoint = endpoints_.find(handle);
  if (endpoint == nullptr || endpoint->membership != Membership::gone) return;
  if (endpoint->connections > 0 || endpoint->active > 0) return;
  views_.find(endpoint->view)->members -= 1;
  const std::uint64_t identity = endpoint->identity;
  by_identity_.erase(identity);
  endpoints_.erase(handle);
  core_.health->forget(identity);
}

void Endpoints::on_timer(Handle handle) { end_work(handle, Cause::drain_deadline); }

void Endpoints::end_work(Handle handle, Cause cause) {
  const LiveEndpoint* const endpoint = endpoints_.find(handle);
  if (endpoint == nullptr) return;
  const std::uint64_t identity = endpoint->identity;
  const bool drains = endpoint->draining();
  // The endpoint may be gone after that.
  const std::uint32_t exchanges = core_.moves->end_work(handle, cause);
  const std::uint32_t cut = exchanges + core_.datagrams->end_of_endpoint(handle, cause);
  if (!drains || cut == 0) return;
  if (cut_.size() >= cut_max) cut_.erase(cut_.begin());
  cut_[identity] += cut;
}

// Where nobody waits there is nobody to wake.
void Endpoints::wake(Handle view) {
  if (views_.find(view)->queue.empty()) return;
  if (std::find(woken_.begin(), woken_.end(), view) == woken_.end()) woken_.push_back(view);
}

void Endpoints::forget_unlisted_views() {
  std::erase_if(unlisted_, [this](Handle handle) {
    const BackendView& view = *views_.find(handle);
    if (view.members > 0) return false;
    by_name_.erase(view.name);
    views_.erase(handle);
    return true;
  });
}

namespace {

void count(lifecycle::Stage stage, InFlight& in_flight) {
  using lifecycle::Stage;
  switch (stage) {
    case Stage::connecting: in_flight.connecting += 1; break;
    case Stage::uploading:
    case Stage::awaiting: in_flight.sent += 1; break;
    case Stage::crossing:
    case Stage::downloading: in_flight.streaming += 1; break;
    case Stage::tunnelling: in_flight.tunnels += 1; break;
    case Stage::choosing:
    case Stage::held:
    case Stage::ended: break;
  }
}

}  // namespace

std::vector<EndpointFacts> Endpoints::facts() {
  std::unordered_map<std::uint32_t, InFlight> in_flight;  // by slot
  core_.exchanges->for_each([&in_flight](Handle, const Exchange& exchange) {
    if (exchange.attempt) count(exchange.stage(), in_flight[exchange.attempt->endpoint.slot]);
  });
  std::vector<EndpointFacts> all;
  endpoints_.for_each([&](Handle handle, LiveEndpoint& endpoint) {
    EndpointFacts& facts = all.emplace_back();
    facts.backend = views_.find(endpoint.view)->name;
    facts.name = core_.labels.text(endpoint.label);
    facts.identity = endpoint.identity;
    facts.address = endpoint.address;
    facts.weight = endpoint.weight;
    facts.membership = endpoint.membership;
    facts.wish = endpoint.wish;
    facts.health = endpoint.health;
    facts.why = endpoint.why;
    facts.doubt = endpoint.doubt;
    facts.since = endpoint.since;
    facts.in_flight = in_flight[handle.slot];
    // What is not an exchange is a flow of datagrams.
    facts.in_flight.tunnels += endpoint.active - facts.in_flight.total();
    facts.connections = endpoint.connections;
    facts.idle = endpoint.idle;
    facts.tally = endpoint.tally;
    facts.check = core_.checks->facts(endpoint.identity);
  });
  return all;
}

InFlight Endpoints::in_flight(std::uint64_t identity) {
  InFlight sum;
  if (const auto cut = cut_.find(identity); cut != cut_.end()) sum.cut = cut->second;
  const LiveEndpoint* const endpoint = find_identity(identity);
  if (endpoint == nullptr || endpoint->active == 0) return sum;
  core_.exchanges->for_each([&sum, endpoint](Handle, const Exchange& exchange) {
    if (exchange.endpoint() == endpoint->self) count(exchange.stage(), sum);
  });
  sum.tunnels += endpoint->active - sum.total();  // flows
  return sum;
}

std::size_t Endpoints::held() const {
  std::size_t count = 0;
  views_.for_each([&count](Handle, const BackendView& view) { count += view.queue.size(); });
  return count;
}

std::vector<BackendFacts> Endpoints::backend_facts() {
  std::vector<BackendFacts> all;
  views_.for_each([&all](Handle, BackendView& view) {
    all.push_back({view.name, static_cast<std::uint32_t>(view.queue.size()), view.held_ever, view.hold_timeouts});
  });
  return all;
}

}  // namespace ebb::gate
