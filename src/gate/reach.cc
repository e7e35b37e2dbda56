#include "gate/reach.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "gate/backends.h"
#include "gate/worker.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Health;

namespace {

constexpr base::Duration answer_min = std::chrono::milliseconds{400};  // and two retransmission time-outs
constexpr base::Duration ask_again = std::chrono::seconds{2};
constexpr base::Duration early_lasts = std::chrono::seconds{2};  // longer than most attempts to connect may take
constexpr std::size_t asked_max = 64;                            // connections of one endpoint

bool out_of_reach(const HealthNews& news) {
  return news.health == Health::down &&
         (news.why == Cause::backend_connect_timeout || news.why == Cause::backend_unreachable);
}

}  // namespace

void Reach::connect_failed(const LiveEndpoint& endpoint, Cause cause) {
  if (endpoint.health == Health::down || !lifecycle::unreachable(cause)) return;
  if (!core_.endpoints->view(endpoint.view).evidence.connect) return;
  findings_.report({endpoint.identity, Finding::Kind::connect_failed, cause});
}

void Reach::connect_slow(const LiveEndpoint& endpoint) {
  if (find(endpoint.self) != nullptr || !core_.endpoints->view(endpoint.view).evidence.connect) return;
  const Siblings& siblings = core_.siblings;
  for (std::size_t i = 0; siblings.post && i < siblings.count; ++i) {
    if (i == siblings.self) continue;
    siblings.post(i, [identity = endpoint.identity](Worker& worker) { worker.health().ask_early(identity); });
  }
  ask_early(endpoint.identity);
}

void Reach::ask_early(std::uint64_t identity) {
  const LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
  if (endpoint == nullptr || find(endpoint->self) != nullptr) return;
  asked_.push_back({.endpoint = endpoint->self, .why = Why::early, .until = core_.reactor.now() + early_lasts});
  ask_connections(endpoint->self);
}

void Reach::follow(const LiveEndpoint& endpoint, const HealthNews& news) {
  if (!core_.endpoints->view(endpoint.view).evidence.connect) return;
  Asked* known = find(endpoint.self);
  if (out_of_reach(news)) {
    if (known != nullptr) {
      known->why = Why::lost;
      return;
    }
    asked_.push_back({.endpoint = endpoint.self, .why = Why::lost});
    return ask_connections(endpoint.self);
  }
  if (known == nullptr || known->why != Why::lost) return;
  std::erase_if(asked_, [&endpoint](const Asked& each) { return each.endpoint == endpoint.self; });
  leave_connections(endpoint.self);
}

Reach::Asked* Reach::find(Handle endpoint) {
  const auto known = std::ranges::find(asked_, endpoint, &Asked::endpoint);
  return known == asked_.end() ? nullptr : &*known;
}

bool Reach::has_connections(Handle handle) const {
  const LiveEndpoint* endpoint = core_.endpoints->find(handle);
  return endpoint != nullptr && endpoint->connections > 0;
}

void Reach::ask_connections(Handle endpoint) {
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

void Reach::leave_connections(Handle endpoint) {
  if (!has_connections(endpoint)) return;
  core_.backends->for_each([&](Handle, BackendConnection& connection) {
    if (connection.endpoint != endpoint || connection.life.ended()) return;
    if (std::exchange(connection.peer_asked, base::Instant::max()) == base::Instant::max()) return;
    core_.reactor.ask_peer(connection.socket, false);
  });
}

bool Reach::look() {
  drop_ended();
  if (asked_.empty()) return false;
  collect_answers();
  bool soon = false;
  for (const Asked& each : asked_) {
    if (each.why == Why::early || each.answers.pending > 0) soon = true;
    if (each.why == Why::lost) weigh(each);
  }
  return soon;
}

void Reach::drop_ended() {
  const base::Instant now = core_.reactor.now();
  std::vector<Handle> over;
  std::erase_if(asked_, [&](const Asked& each) {
    const bool expired = each.why == Why::early && each.until <= now;
    const bool ends = expired || core_.endpoints->find(each.endpoint) == nullptr;
    if (ends) over.push_back(each.endpoint);
    return ends;
  });
  for (const Handle each : over) leave_connections(each);
}

// One walk over the connections, however many endpoints are out of reach: they may be those of a whole zone.
void Reach::collect_answers() {
  std::unordered_map<std::uint32_t, Asked*> lost;  // by slot
  for (Asked& each : asked_) {
    each.answers = {};
    if (each.why == Why::lost) lost.emplace(each.endpoint.slot, &each);
  }
  if (lost.empty()) return;
  core_.backends->for_each([&](Handle, const BackendConnection& connection) {
    if (connection.life.ended() || connection.peer_asked == base::Instant::max()) return;
    const auto found = lost.find(connection.endpoint.slot);
    if (found == lost.end() || found->second->endpoint != connection.endpoint) return;
    note_answer(found->second->answers, connection);
  });
}

void Reach::note_answer(Answers& answers, const BackendConnection& connection) const {
  answers.last_asked = std::max(answers.last_asked, connection.peer_asked);
  const base::Duration waited = core_.reactor.now() - connection.peer_asked;
  const auto facts = core_.reactor.tcp_facts(connection.socket);
  if (!facts) return;
  const bool unacknowledged = facts->probes > 0 || facts->timeouts > 0;
  const base::Duration limit = std::max(answer_min, 2 * facts->timeout);
  if (!unacknowledged && facts->silence < waited) answers.came += 1;
  if (unacknowledged && facts->silence >= limit && waited >= limit) answers.missing += 1;
  if (waited < limit) answers.pending += 1;
}

void Reach::weigh(const Asked& asked) {
  const LiveEndpoint* endpoint = core_.endpoints->find(asked.endpoint);
  const Answers& answers = asked.answers;
  if (endpoint == nullptr || answers.pending > 0) return;
  if (answers.missing > 0 && answers.came == 0) return findings_.report({endpoint->identity, Finding::Kind::stalled});
  if (core_.reactor.now() - answers.last_asked >= ask_again) ask_connections(asked.endpoint);
}

}  // namespace ebb::gate
