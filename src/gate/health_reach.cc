// An endpoint to which no connection can be established: is its host gone, or is only its accept queue full? What is
// still open to it would not tell for long: a stream that waits sends nothing. So the peers of its connections are
// asked by keepalive probes; a kernel answers them, whatever its process does. Not one answer: all is lost.
//
// Before: gate/moves (connect_slow), gate/health (apply). Next: gate/health_looks, gate/health (judge).
#include <algorithm>
#include <unordered_map>

#include "gate/backends.h"
#include "gate/health.h"
#include "gate/worker.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Health;

namespace {

constexpr base::Duration answer_min = std::chrono::milliseconds{400};  // and two retransmission time-outs
constexpr base::Duration ask_again = std::chrono::seconds{2};
constexpr base::Duration asked_early = std::chrono::seconds{2};  // longer than most attempts to connect may take
constexpr std::size_t asked_max = 64;                            // connections of one endpoint

bool out_of_reach(const HealthNews& news) {
  return news.health == Health::down &&
         (news.why == Cause::backend_connect_timeout || news.why == Cause::backend_unreachable);
}

}  // namespace

// No answer to SYN yet. The peers are asked early, so that their answers are there when the attempt has failed.
void HealthWatch::connect_slow(const LiveEndpoint& endpoint) {
  const bool asked = std::ranges::find(reaches_, endpoint.self, &Reach::endpoint) != reaches_.end();
  if (asked || !core_.endpoints->view(endpoint.view).evidence.connect) return;
  const Siblings& siblings = core_.siblings;
  for (std::size_t i = 0; siblings.post && i < siblings.count; ++i) {
    if (i == siblings.self) continue;
    siblings.post(i, [identity = endpoint.identity](Worker& worker) { worker.health().ask_early(identity); });
  }
  ask_early(endpoint.identity);
}

void HealthWatch::ask_early(std::uint64_t identity) {
  const LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
  if (endpoint == nullptr) return;
  if (std::ranges::find(reaches_, endpoint->self, &Reach::endpoint) != reaches_.end()) return;
  reaches_.push_back({.endpoint = endpoint->self, .until = core_.reactor.now() + asked_early});
  ask_peers(endpoint->self);
}

void HealthWatch::follow_reach(const LiveEndpoint& endpoint, const HealthNews& news) {
  if (!core_.endpoints->view(endpoint.view).evidence.connect) return;
  const auto known = std::ranges::find(reaches_, endpoint.self, &Reach::endpoint);
  const bool asked = known != reaches_.end();
  if (out_of_reach(news)) {
    if (asked) {
      known->until = base::Instant::max();
      return;
    }
    reaches_.push_back({.endpoint = endpoint.self});
    return ask_peers(endpoint.self);
  }
  if (!asked || !known->lost()) return;
  reaches_.erase(known);
  leave_peers(endpoint.self);
}

bool HealthWatch::has_connections(Handle handle) const {
  const LiveEndpoint* endpoint = core_.endpoints->find(handle);
  return endpoint != nullptr && endpoint->connections > 0;
}

void HealthWatch::ask_peers(Handle endpoint) {
  if (!has_connections(endpoint)) return;
  const base::Instant now = core_.reactor.now();
  std::size_t asked = 0;
  core_.backends->for_each([&](Handle, BackendConnection& connection) {
    if (connection.endpoint != endpoint || connection.life.ended() || asked == asked_max) return;
    if (connection.life.is(BackendState::connecting)) return;
    asked += 1;
    connection.peer_asked = now;
    core_.reactor.ask_peer(connection.socket, true);
  });
}

void HealthWatch::leave_peers(Handle endpoint) {
  if (!has_connections(endpoint)) return;
  core_.backends->for_each([&](Handle, BackendConnection& connection) {
    if (connection.endpoint != endpoint || connection.life.ended()) return;
    if (std::exchange(connection.peer_asked, base::Instant::max()) == base::Instant::max()) return;
    core_.reactor.ask_peer(connection.socket, false);
  });
}

// One walk over the connections, however many endpoints are out of reach: they may be those of a whole zone.
void HealthWatch::look_for_unreachable() {
  const base::Instant now = core_.reactor.now();
  std::vector<Handle> over;
  std::erase_if(reaches_, [&](const Reach& each) {
    const bool ends = core_.endpoints->find(each.endpoint) == nullptr || each.until <= now;
    if (ends) over.push_back(each.endpoint);
    return ends;
  });
  for (const Handle each : over) leave_peers(each);
  if (reaches_.empty()) return;
  std::unordered_map<std::uint32_t, Reach*> lost;  // by slot
  for (Reach& each : reaches_) {
    each = {.endpoint = each.endpoint, .until = each.until};
    if (!each.lost()) delayed_ = true;  // soon more is known
    if (each.lost()) lost.emplace(each.endpoint.slot, &each);
  }
  if (lost.empty()) return;
  core_.backends->for_each([&](Handle, const BackendConnection& connection) {
    if (connection.life.ended() || connection.peer_asked == base::Instant::max()) return;
    const auto found = lost.find(connection.endpoint.slot);
    if (found != lost.end() && found->second->endpoint == connection.endpoint) take_answer(*found->second, connection);
  });
  for (Reach& each : reaches_)
    if (each.lost()) weigh_answers(each);
}

void HealthWatch::take_answer(Reach& reach, const BackendConnection& connection) {
  reach.last_asked = std::max(reach.last_asked, connection.peer_asked);
  const base::Duration waited = core_.reactor.now() - connection.peer_asked;
  const auto facts = core_.reactor.tcp_facts(connection.socket);
  if (!facts) return;
  const bool unacknowledged = facts->probes > 0 || facts->timeouts > 0;
  const base::Duration limit = std::max(answer_min, 2 * facts->timeout);
  if (!unacknowledged && facts->silence < waited) reach.answered += 1;
  if (unacknowledged && facts->silence >= limit && waited >= limit) reach.unanswered += 1;
  if (waited < limit) reach.pending += 1;
}

void HealthWatch::weigh_answers(Reach& reach) {
  const LiveEndpoint* endpoint = core_.endpoints->find(reach.endpoint);
  if (endpoint == nullptr) return;
  delayed_ = delayed_ || reach.pending > 0;
  if (reach.pending > 0) return;
  if (reach.unanswered > 0 && reach.answered == 0) return report({endpoint->identity, Finding::Kind::stalled});
  if (core_.reactor.now() - reach.last_asked >= ask_again) ask_peers(reach.endpoint);
}

}  // namespace ebb::gate
