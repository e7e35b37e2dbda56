// An endpoint to which no connection can be established: is its host gone, or is only its accept queue full? What is
// still open to it would not tell for long: a stream that waits sends nothing. So the peers of its connections are
// asked by keepalive probes; a kernel answers them, whatever its process does. Not one answer: all is lost.
//
// Before: gate/health (apply). Next: gate/health_looks, gate/health (judge).
#include <algorithm>

#include "gate/backends.h"
#include "gate/health.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Health;

namespace {

constexpr base::Duration answer_min = std::chrono::milliseconds{400};  // and two retransmission time-outs
constexpr base::Duration ask_again = std::chrono::seconds{2};
constexpr std::size_t asked_max = 64;  // connections of one endpoint

bool out_of_reach(const HealthNews& news) {
  return news.health == Health::down &&
         (news.why == Cause::backend_connect_timeout || news.why == Cause::backend_unreachable);
}

}  // namespace

void HealthWatch::follow_reach(const EndpointState& endpoint, const HealthNews& news) {
  if (!core_.endpoints->view(endpoint.view).evidence.connect) return;
  const auto known = std::ranges::find(out_of_reach_, endpoint.self);
  const bool was = known != out_of_reach_.end();
  if (was == out_of_reach(news)) return;
  if (!was) {
    out_of_reach_.push_back(endpoint.self);
    return ask_peers(endpoint.self);
  }
  out_of_reach_.erase(known);
  core_.backends->for_each([&](Handle, BackendConnection& connection) {
    if (connection.endpoint != endpoint.self || connection.life.ended()) return;
    if (std::exchange(connection.peer_asked, base::Instant::max()) == base::Instant::max()) return;
    core_.reactor.ask_peer(connection.socket, false);
  });
}

void HealthWatch::ask_peers(Handle endpoint) {
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

void HealthWatch::take_answers(Handle handle) {
  const EndpointState* endpoint = core_.endpoints->find(handle);
  if (endpoint == nullptr) {
    std::erase(out_of_reach_, handle);
    return;
  }
  const base::Instant now = core_.reactor.now();
  std::size_t answered = 0, unanswered = 0, pending = 0;
  base::Instant last = long_ago;
  core_.backends->for_each([&](Handle, const BackendConnection& connection) {
    if (connection.endpoint != handle || connection.life.ended()) return;
    if (connection.peer_asked == base::Instant::max()) return;
    last = std::max(last, connection.peer_asked);
    const base::Duration waited = now - connection.peer_asked;
    const auto facts = core_.reactor.tcp_facts(connection.socket);
    if (!facts) return;
    const bool unacknowledged = facts->probes > 0 || facts->timeouts > 0;
    const base::Duration patience = std::max(answer_min, 2 * facts->timeout);
    if (!unacknowledged && facts->silence < waited) answered += 1;
    if (unacknowledged && facts->silence >= patience && waited >= patience) unanswered += 1;
    if (waited < patience) pending += 1;
  });
  delayed_ = delayed_ || pending > 0;
  if (pending > 0) return;
  if (unanswered > 0 && answered == 0) return report({endpoint->identity, Finding::Kind::stalled});
  if (now - last >= ask_again) ask_peers(handle);
}

}  // namespace ebb::gate
