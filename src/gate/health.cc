#include "gate/health.h"

#include "gate/exchanges.h"
#include "gate/h2_backends.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::Health;

namespace {

constexpr base::Duration look_interval_soon = std::chrono::milliseconds{50};  // a TCP time-out: the second may be near
constexpr Handle the_timer{0, 0};                                             // of the looks; probes have valid handles

}  // namespace

HealthWatch::HealthWatch(Core& core) : core_(core) { timer_.set_owner({owner_health, the_timer}); }

void HealthWatch::ping_unanswered(const BackendConnection& connection, bool hangs) {
  EBB_FIND(endpoint, core_.endpoints->find(connection.endpoint));
  if (hangs) trials_.ping_unanswered(endpoint);
  rescue_.leave_connection(connection, endpoint);
}

void HealthWatch::apply(std::uint64_t identity, const HealthNews& news) {
  LiveEndpoint* endpoint = core_.endpoints->find_identity(identity);
  if (endpoint == nullptr) return;
  if (endpoint->health == Health::down && news.health == Health::up) {
    endpoint->order = {};
    endpoint->evidence.begin_anew(core_.endpoints->view(endpoint->view).evidence.failures.in_a_row);
  }
  trials_.follow(*endpoint, news);
  reach_.follow(*endpoint, news);
  core_.endpoints->set_health(identity, news.health, news.why, news.condemned);
}

void HealthWatch::arm() {
  const bool verdicts_wait = verdicts_.needs_looks() && !core_.stopping;
  const bool needed = core_.exchanges->size() > 0 || waiting_.any_given_up() || reach_.asks() || verdicts_wait;
  if (!needed) {
    waiting_.forget();  // no looks any more: what waited then must not be told to other workers, nor count here
    return timer_.disarm();
  }
  if (!timer_.armed()) core_.arm(timer_, next_look_);
}

void HealthWatch::on_timer(base::Owner owner) {
  if (owner.handle != the_timer) return end_probe(owner.handle, false);
  look();
  if (!core_.stopping) verdicts_.look();
}

void HealthWatch::look() {
  const bool sent_again = stalls_.look();
  const bool answers_awaited = reach_.look();
  next_look_ = sent_again || answers_awaited ? look_interval_soon : look_interval;
  // Silence needs no oftener look.
  if (core_.reactor.now() - waiting_.looked_at() >= look_interval * 3 / 4) look_for_silent();
}

// The order matters: bytes that came end a doubt before it is weighed, and requests move after all is weighed.
void HealthWatch::look_for_silent() {
  waiting_.look();
  trials_.report_heard();
  survey_.ask_about_waiting();
  scale_.look();
  rescue_.look();
}

void HealthWatch::end_probe(Handle probe, bool passed) {
  const std::optional<std::uint64_t> identity = probes_.end(probe);
  if (identity) verdicts_.probe_ended(*identity, passed);
}

}  // namespace ebb::gate
