#include "gate/mirrors.h"

#include <utility>

#include "gate/attempts.h"
#include "gate/deadlines.h"
#include "gate/exchanges.h"
#include "gate/payload.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;

namespace {

// A request with a larger body is not copied.
constexpr std::size_t body_bytes_max = std::size_t{64} << 10;
// At a time, per worker: a mirror that hangs must not let copies pile up.
constexpr std::uint32_t running_max = 256;

}  // namespace

void Mirrors::choose(Exchange& exchange, const wire::RequestHead& head) {
  const bool too_large = head.framing == wire::Framing::length && head.content_length > body_bytes_max;
  for (const routes::Mirror& mirror : exchange.route->policy->mirrors) {
    if (exchange.request.upgrades() || !mirror.wants(core_.random.next())) continue;
    if (too_large) {
      core_.counters.mirrors_left_out += 1;
    } else {
      exchange.apply().mirrors.push_back(mirror.backend);
    }
  }
}

void Mirrors::copy(Exchange& exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size) {
  AppliedPolicy& applied = *exchange.applied;
  append_payload(core_.reactor.blocks(), applied.copy, source, at, size, false);
  if (applied.copy.bytes() <= body_bytes_max) return;
  core_.counters.mirrors_left_out += applied.mirrors.size();
  applied.mirrors.clear();
  applied.copy.clear();
}

void Mirrors::send(Exchange& exchange) {
  if (!exchange.request.whole()) return;
  const std::vector<std::uint32_t> backends = std::exchange(exchange.applied->mirrors, {});
  const Chain payload = std::exchange(exchange.applied->copy, {});
  const Handle self = exchange.self;
  for (const std::uint32_t backend : backends) {
    // The copy before may have found the connection of the request itself closed, and so have ended the request.
    const Exchange* original = core_.exchanges->live(self);
    if (original == nullptr) {
      core_.counters.mirrors_left_out += 1;
      continue;
    }
    begin(*original, backend, payload);
  }
}

void Mirrors::begin(const Exchange& original, std::uint32_t backend, const Chain& payload) {
  if (running_ >= running_max || core_.stopping) {
    core_.counters.mirrors_left_out += 1;
    return;
  }
  running_ += 1;
  Exchange& mirror = core_.exchanges->add(*this, {}, original.snapshot);
  mirror.route = original.route;
  mirror.backend_index = backend;
  Request& request = mirror.request;
  request.kind = original.request.kind;
  request.method = original.request.method;
  request.head = original.request.head;
  request.framing = original.request.framing;
  request.trailers = original.request.trailers;
  for (std::uint32_t i = 0; i < payload.slices(); ++i) request.body.push(payload[i]);
  core_.exchanges->step(mirror, request.life, lifecycle::RequestHalfLife::Event::whole);
  mirror.deadline = mirror.account.started + response_timeout(mirror);
  core_.attempts->begin(mirror);
}

void Mirrors::ended(Cause cause) {
  running_ -= 1;
  (cause == Cause::completed ? core_.counters.mirrors_answered : core_.counters.mirrors_failed) += 1;
}

void Mirrors::end_all(Cause cause) {
  const auto all = core_.exchanges->those([this](const Exchange& exchange) { return exchange.front == this; });
  for (const Handle handle : all) core_.exchanges->on_client_left(handle, cause);
}

}  // namespace ebb::gate
