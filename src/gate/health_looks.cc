// What shows only when one looks, every 200 ms while there is work, oftener in doubt: connections whose bytes are not
// acknowledged, and requests that are not answered while those to siblings are.
//
// Before: gate/worker (timer). Next: gate/health (judge).
#include <algorithm>

#include "gate/backends.h"
#include "gate/exchanges.h"
#include "gate/health.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Health;

namespace {

// A connection that was written to and has said nothing for so long is worth a question to the kernel.
constexpr base::Duration quiet_min = std::chrono::milliseconds{200};
constexpr std::size_t looks_max = 64;          // per look
constexpr std::uint32_t stalled_timeouts = 2;  // after 0.8 s on a LAN: tail loss probe 0.2, time-outs 0.2 and 0.4
// What flowed until so shortly before the silence is taken to have been broken off by it.
constexpr base::Duration flowing = std::chrono::seconds{1};

}  // namespace

void HealthWatch::look() {
  looked_at_ = core_.reactor.now();
  look_for_stalled();
  look_for_silent();
  for (const Trial& trial : std::vector<Trial>(trials_)) relieve_silent(trial);
}

void HealthWatch::look_for_stalled() {
  std::vector<Handle> quiet;
  core_.backends->for_each([&](Handle handle, const BackendConnection& connection) {
    if (connection.life.ended() || connection.asked_since == base::Instant::max()) return;
    if (looked_at_ - connection.asked_since >= quiet_min) quiet.push_back(handle);
  });
  delayed_ = false;
  // More than may be looked at: others the next time.
  const std::size_t first = quiet.size() > looks_max ? core_.random.below(quiet.size()) : 0;
  for (std::size_t i = 0; i < std::min(quiet.size(), looks_max); ++i) {
    const BackendConnection& connection = *core_.backends->find(quiet[(first + i) % quiet.size()]);
    const auto facts = core_.reactor.tcp_facts(connection.socket);
    if (!facts || facts->unacknowledged == 0 || facts->timeouts == 0) continue;
    const bool stalled = facts->timeouts >= stalled_timeouts;
    delayed_ = delayed_ || !stalled;
    report({core_.endpoints->find(connection.endpoint)->identity,
            stalled ? Finding::Kind::stalled : Finding::Kind::delayed});
  }
}

void HealthWatch::look_for_silent() {
  std::vector<Handle> waited_for;
  core_.exchanges->for_each([&](Handle, const Exchange& exchange) {
    EndpointState* endpoint = core_.endpoints->find(exchange.endpoint);
    if (endpoint != nullptr) endpoint->heard = std::max(endpoint->heard, exchange.heard);
  });
  core_.exchanges->for_each([&](Handle, const Exchange& exchange) {
    EndpointState* endpoint = core_.endpoints->find(exchange.endpoint);
    if (endpoint == nullptr || !exchange.life.is(lifecycle::ExchangeLife::State::awaiting)) return;
    if (looked_at_ - exchange.asked <= endpoint->evidence.patience()) return;
    if (!std::exchange(endpoint->waited_for, true)) waited_for.push_back(exchange.endpoint);
    // What others have overtaken is slow by nature, and says nothing when those have ended.
    if (exchange.asked >= endpoint->heard) endpoint->overdue += 1;
  });
  for (const Handle handle : waited_for) {
    const EndpointState& endpoint = *core_.endpoints->find(handle);
    const base::Duration silence = looked_at_ - endpoint.heard;
    // What it had acknowledged before it died is never sent again, so that only its silence tells.
    const bool out_of_reach =
        endpoint.why == Cause::backend_connect_timeout || endpoint.why == Cause::backend_unreachable;
    if (endpoint.health == Health::down && out_of_reach && silence > 3 * endpoint.evidence.patience() / 2) {
      report({endpoint.identity, Finding::Kind::stalled});
    }
    if (endpoint.health == Health::suspect || endpoint.health == Health::down) continue;
    const bool quiet = silence > endpoint.evidence.patience();
    if (quiet && endpoint.evidence.is_silent(endpoint.overdue) && sibling_answers(endpoint)) {
      report({endpoint.identity, Finding::Kind::silent});
    }
  }
  for (const Handle handle : waited_for) {
    EndpointState& endpoint = *core_.endpoints->find(handle);
    endpoint.overdue = 0;
    endpoint.waited_for = false;
  }
}

// One has answered since this one fell silent, and owes nothing. Where all are silent the cause lies elsewhere.
bool HealthWatch::sibling_answers(const EndpointState& endpoint) const {
  const BackendView& view = core_.endpoints->view(endpoint.view);
  return std::any_of(view.endpoints.begin(), view.endpoints.end(), [&](Handle handle) {
    const EndpointState& other = *core_.endpoints->find(handle);
    return &other != &endpoint && other.overdue == 0 && other.evidence.answered_at() > endpoint.heard;
  });
}

// Its work goes where it is safe, and is ended where not; what had been quiet before stays.
void HealthWatch::relieve_silent(const Trial& trial) {
  const EndpointState* endpoint = core_.endpoints->find(trial.endpoint);
  if (endpoint == nullptr) return;
  core_.exchanges->leave_silent(trial.endpoint, endpoint->evidence.patience(), trial.silent_since - flowing);
}

}  // namespace ebb::gate
