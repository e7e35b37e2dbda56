#include "admin/drains.h"

#include <fmt/format.h>

#include <algorithm>

namespace ebb::admin {

using lifecycle::Membership;
using lifecycle::Wish;

Drains::Drains(const Sources& sources, Server& server) : sources_(sources), server_(server) {}

Drains::Drain* Drains::find(const std::string& id) {
  const auto found = drains_.find(id);
  return found == drains_.end() ? nullptr : &found->second;
}

const std::vector<DrainedEndpoint>* Drains::endpoints(const std::string& id) const {
  const auto found = drains_.find(id);
  return found == drains_.end() ? nullptr : &found->second.endpoints;
}

std::string Drains::same_drain(const std::vector<EndpointPlace>& places) const {
  const auto same = [&places](const Drain& drain) {
    return drain.state != DrainState::ended &&
           std::ranges::equal(drain.endpoints, places, {}, &DrainedEndpoint::identity,
                              [](const EndpointPlace& place) { return place.endpoint.identity; });
  };
  for (const auto& [id, drain] : drains_) {
    if (same(drain) && !ready_again(drain)) return id;
  }
  return "";
}

std::optional<Drains::Asked> Drains::ask(const std::vector<EndpointPlace>& places, const DrainOptions& options) {
  for (const EndpointPlace& place : places) {
    const auto listed = sources_.roster->find(place.backend, place.endpoint.name);
    if (!listed || listed->identity != place.endpoint.identity) continue;  // removed: gets no new work
    if (options.serve_if_last) {
      sources_.roster->set_leaving(place.backend, place.endpoint.name, true);
    } else if (listed->wish == Wish::ready) {
      sources_.roster->set_wish(place.backend, place.endpoint.name, Wish::drain);
    }
  }
  if (std::string id = same_drain(places); !id.empty()) return Asked{std::move(id), true};
  make_room();
  if (drains_.size() >= drains_max) return std::nullopt;

  // Unique also across restarts.
  const auto second = std::chrono::duration_cast<std::chrono::seconds>(server_.now().time_since_epoch()).count();
  std::string id = fmt::format("{:x}-{}", second, ++started_);
  Drain& drain = drains_[id];
  drain.number = started_;
  drain.options = options;
  drain.asked_at = server_.now();
  for (const EndpointPlace& place : places) {
    drain.endpoints.push_back(
        {place.backend, place.endpoint.name, place.endpoint.address, place.endpoint.identity, {}});
  }
  for (const EndpointPlace& place : places) watch(place.endpoint.identity);
  if (places.empty()) confirm(id);
  return Asked{std::move(id), false};
}

// Drops the oldest drain without waiting callers.
void Drains::make_room() {
  if (drains_.size() < drains_max) return;
  auto oldest = drains_.end();
  for (auto each = drains_.begin(); each != drains_.end(); ++each) {
    if (!each->second.waiters.empty()) continue;
    if (oldest == drains_.end() || each->second.number < oldest->second.number) oldest = each;
  }
  if (oldest != drains_.end()) drains_.erase(oldest);
}

bool Drains::end(const std::string& id) {
  Drain* const drain = find(id);
  if (drain == nullptr) return false;
  for (const DrainedEndpoint& endpoint : drain->endpoints) {
    const auto now = sources_.roster->find(endpoint.backend, endpoint.name);
    if (!now || now->identity != endpoint.identity) continue;
    if (drain->options.serve_if_last) {
      sources_.roster->set_leaving(endpoint.backend, endpoint.name, false);
    } else if (now->wish == Wish::drain) {
      sources_.roster->set_wish(endpoint.backend, endpoint.name, Wish::ready);
    }
  }
  settle(id, *drain, DrainState::ended, 0);
  return true;
}

// Workers get this after the list's change, which was sent before.
void Drains::watch(std::uint64_t identity) {
  if (!watched_.emplace(identity, sources_.workers).second) return;
  for (std::size_t worker = 0; worker < sources_.workers; ++worker) {
    sources_.post(worker, [this, identity, worker, door = server_.door(), &sources = sources_] {
      sources.when_idle(worker, identity,
                        [this, identity, door] { door->post([this, identity] { on_idle(identity); }); });
    });
  }
}

void Drains::on_idle(std::uint64_t identity) {
  const auto watched = watched_.find(identity);
  if (watched == watched_.end() || --watched->second > 0) return;
  watched_.erase(watched);
  std::vector<std::string> concerned;
  for (const auto& [id, drain] : drains_) {
    if (drain.state != DrainState::draining) continue;
    const bool other_busy = std::ranges::any_of(
        drain.endpoints, [this](const DrainedEndpoint& endpoint) { return watched_.contains(endpoint.identity); });
    if (!other_busy) concerned.push_back(id);
  }
  for (const std::string& id : concerned) confirm(id);
}

void Drains::confirm(const std::string& id) {
  Drain* const drain = find(id);
  if (drain == nullptr || std::exchange(drain->looking, true)) return;
  look(id, [this, id](Drain* found, std::size_t silent, bool busy) {
    if (found == nullptr) return;
    found->looking = false;
    if (found->state != DrainState::draining) return;
    // The endpoint is unused only at this moment if it gets new work.
    if (ready_again(*found)) return settle(id, *found, DrainState::ended, silent);
    if (!busy) return settle(id, *found, DrainState::drained, silent);
    for (const DrainedEndpoint& endpoint : found->endpoints) watch(endpoint.identity);
  });
}

void Drains::look(const std::string& id, std::move_only_function<void(Drain*, std::size_t, bool)> then) {
  std::vector<std::uint64_t> identities;
  for (const DrainedEndpoint& endpoint : find(id)->endpoints) identities.push_back(endpoint.identity);
  const auto question = [&sources = sources_, identities](std::size_t worker) {
    std::vector<gate::InFlight> seen;
    for (const std::uint64_t identity : identities) seen.push_back(sources.in_flight(worker, identity));
    return seen;
  };
  auto take = [this, id, then = std::move(then)](const Looks& looks) mutable {
    Drain* const drain = find(id);
    if (drain == nullptr) return then(nullptr, 0, false);
    std::size_t silent = 0;
    std::uint32_t busy = 0;
    for (DrainedEndpoint& endpoint : drain->endpoints) endpoint.in_flight = {};
    for (const auto& seen : looks) {
      if (!seen) silent += 1;
      for (std::size_t i = 0; seen && i < seen->size(); ++i) {
        drain->endpoints[i].in_flight.add((*seen)[i]);
        busy += (*seen)[i].total();
      }
    }
    then(drain, silent, busy > 0 || silent > 0);
  };
  ask_workers<std::vector<gate::InFlight>>(sources_, server_.door(), server_.alarms(), worker_timeout, question,
                                           std::move(take));
}

void Drains::settle(const std::string& id, Drain& drain, DrainState state, std::size_t silent) {
  drain.state = state;
  if (state == DrainState::drained) drain.drained_at = server_.now();
  auto waiters = std::exchange(drain.waiters, {});
  const DrainReport told = report(id, drain, silent);
  forget_later(id);
  for (auto& [number, waiter] : waiters) {
    server_.alarms().cancel(waiter.alarm);
    waiter.done(told);
  }
}

void Drains::forget_later(const std::string& id) {
  server_.alarms().run_after(remembered, [this, id, number = find(id)->number] {
    const Drain* const drain = find(id);
    if (drain != nullptr && drain->number == number && drain->state != DrainState::draining) drains_.erase(id);
  });
}

bool Drains::wait(const std::string& id, base::Duration most, Done done) {
  Drain* const drain = find(id);
  if (drain == nullptr) return false;
  if (drain->state != DrainState::ended && ready_again(*drain)) settle(id, *drain, DrainState::ended, 0);
  if (drain->state == DrainState::ended) {
    done(report(id, *drain));
    return true;
  }
  if (drain->state == DrainState::draining && most > base::Duration::zero()) {
    const std::uint64_t number = drain->waiters_ever++;
    const base::Handle alarm = server_.alarms().run_after(most, [this, id, number] {
      Drain* const found = find(id);
      if (found == nullptr) return;
      auto waiter = found->waiters.extract(number);
      if (!waiter.empty()) wait(id, base::Duration::zero(), std::move(waiter.mapped().done));
    });
    drain->waiters.emplace(number, Waiter{alarm, std::move(done)});
    return true;
  }
  look(id, [this, id, most, done = std::move(done)](Drain* found, std::size_t silent, bool busy) mutable {
    if (found == nullptr) return done({.id = id, .state = DrainState::ended});  // dropped meanwhile
    if (found->state != DrainState::ended && ready_again(*found)) settle(id, *found, DrainState::ended, silent);
    if (found->state == DrainState::drained && busy) {
      note_work_again(*found);
      if (most > base::Duration::zero()) {
        wait(id, most, std::move(done));
        return;
      }
    }
    done(report(id, *found, silent));
  });
  return true;
}

void Drains::note_work_again(Drain& drain) {
  drain.state = DrainState::draining;
  drain.drained_at.reset();
  for (const DrainedEndpoint& endpoint : drain.endpoints) watch(endpoint.identity);
}

std::unordered_set<base::Address, Drains::AddressHash> Drains::served() const {
  std::unordered_set<base::Address, AddressHash> served;
  for (const control::SharedEndpointList& list : sources_.roster->lists()) {
    for (const gate::ListedEndpoint& endpoint : list->endpoints) {
      if (!lifecycle::draining(endpoint.membership, endpoint.wish)) served.insert(endpoint.address);
    }
  }
  return served;
}

// Ready again without end(): by the runtime socket or the provider, or under another name if an address is drained.
bool Drains::ready_again(const Drain& drain, const std::unordered_set<base::Address, AddressHash>& served) const {
  return std::ranges::any_of(drain.endpoints, [&](const DrainedEndpoint& endpoint) {
    if (drain.options.by_address && served.contains(endpoint.address)) return true;
    const auto now = sources_.roster->find(endpoint.backend, endpoint.name);
    return now && now->identity == endpoint.identity && !lifecycle::draining(now->membership, now->wish);
  });
}

DrainReport Drains::report(const std::string& id, const Drain& drain, std::size_t silent) const {
  return {.id = id,
          .state = drain.state,
          .asked_at = drain.asked_at,
          .drained_at = drain.drained_at,
          .endpoints = drain.endpoints,
          .workers_silent = silent};
}

// One look for all drains.
void Drains::list(std::move_only_function<void(std::vector<DrainReport>)> done) {
  const auto served_now = served();
  std::vector<std::uint64_t> identities;
  std::vector<std::string> ids;
  for (auto& [id, drain] : drains_) {
    ids.push_back(id);
    if (drain.state != DrainState::ended && ready_again(drain, served_now)) settle(id, drain, DrainState::ended, 0);
    if (drain.state == DrainState::ended) continue;
    for (const DrainedEndpoint& endpoint : drain.endpoints) identities.push_back(endpoint.identity);
  }
  using Seen = std::unordered_map<std::uint64_t, gate::InFlight>;
  const auto question = [&sources = sources_, identities = std::move(identities)](std::size_t worker) {
    Seen seen;
    for (const std::uint64_t identity : identities) seen.emplace(identity, sources.in_flight(worker, identity));
    return seen;
  };
  auto take = [this, ids = std::move(ids), done = std::move(done)](const Replies<Seen>& replies) mutable {
    const auto silent =
        static_cast<std::size_t>(std::ranges::count_if(replies, [](const auto& seen) { return !seen; }));
    std::vector<DrainReport> all;
    for (const std::string& id : ids) {
      Drain* const drain = find(id);
      if (drain == nullptr) continue;
      std::uint32_t busy = 0;
      for (DrainedEndpoint& endpoint : drain->endpoints) {
        if (drain->state == DrainState::ended) break;
        endpoint.in_flight = {};
        for (const auto& seen : replies) {
          if (seen && seen->contains(endpoint.identity)) endpoint.in_flight.add(seen->at(endpoint.identity));
        }
        busy += endpoint.in_flight.total();
      }
      // A worker that has not answered may have work.
      if (drain->state == DrainState::drained && (busy > 0 || silent > 0)) note_work_again(*drain);
      all.push_back(report(id, *drain, silent));
    }
    done(std::move(all));
  };
  ask_workers<Seen>(sources_, server_.door(), server_.alarms(), worker_timeout, question, std::move(take));
}

}  // namespace ebb::admin
