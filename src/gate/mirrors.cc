// Copies of requests to other backends: never waited for, never answered, and left out where they would cost too much.
//
// Before: gate/request_path (the request is whole). Next: gate/exchanges (choose), for the copy.
#include "gate/mirrors.h"

#include <utility>

#include "gate/exchanges.h"
#include "gate/payload.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;

void Exchanges::choose_mirrors(Exchange& exchange, const wire::RequestHead& head) {
  const bool too_large = head.framing == wire::Framing::length && head.content_length > Mirrors::body_bytes_max;
  for (const routes::Mirror& mirror : exchange.route->policy->mirrors) {
    if (exchange.upgrade_asked || !mirror.wants(core_.random.next())) continue;
    if (too_large) {
      core_.counters.mirrors_left_out += 1;
    } else {
      exchange.apply().mirrors.push_back(mirror.backend);
    }
  }
}

void Exchanges::copy_payload(Exchange& exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size) {
  AppliedPolicy& applied = *exchange.applied;
  if (applied.mirrors.empty()) return;
  append_payload(core_.reactor.blocks(), applied.copy, source, at, size, false);
  if (applied.copy.bytes() <= Mirrors::body_bytes_max) return;
  core_.counters.mirrors_left_out += applied.mirrors.size();
  applied.mirrors.clear();
  applied.copy.clear();
}

// Only whole requests are copied, so that a mirror never waits for a client, nor a client for a mirror.
void Exchanges::send_mirrors(Exchange& exchange) {
  if (exchange.applied == nullptr || exchange.applied->mirrors.empty() || !exchange.request_whole) return;
  const std::vector<std::uint32_t> backends = std::exchange(exchange.applied->mirrors, {});
  const Chain payload = std::exchange(exchange.applied->copy, {});
  const Handle self = exchange.self;
  for (const std::uint32_t backend : backends) {
    // The copy before may have found the connection of the request itself closed, and so have ended the request.
    const Exchange* original = live(self);
    if (original == nullptr) {
      core_.counters.mirrors_left_out += 1;
      continue;
    }
    begin_mirror(*original, backend, payload);
  }
}

void Exchanges::begin_mirror(const Exchange& original, std::uint32_t backend, const Chain& payload) {
  if (!core_.mirrors->has_room() || core_.stopping) {
    core_.counters.mirrors_left_out += 1;
    return;
  }
  core_.mirrors->begun();
  Exchange& mirror = add(*core_.mirrors, {}, original.snapshot);
  mirror.route = original.route;
  mirror.kind = original.kind;
  mirror.backend_index = backend;
  mirror.method = original.method;
  mirror.head = original.head;
  mirror.framing = original.framing;
  for (std::uint32_t i = 0; i < payload.slices(); ++i) mirror.body.push(payload[i]);
  mirror.trailers = original.trailers;
  mirror.request_whole = true;
  mirror.deadline = mirror.started + response_timeout(mirror);
  choose(mirror);
}

void Exchanges::mirror_ended(Cause cause) {
  core_.mirrors->ended();
  (cause == Cause::completed ? core_.counters.mirrors_answered : core_.counters.mirrors_failed) += 1;
}

void Exchanges::end_mirrors(Cause cause) {
  std::vector<Handle> running;
  exchanges_.for_each([&](Handle handle, const Exchange& exchange) {
    if (exchange.front == core_.mirrors && !exchange.life.ended()) running.push_back(handle);
  });
  for (const Handle handle : running) on_client_left(handle, cause);
}

}  // namespace ebb::gate
