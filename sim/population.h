// Who lives in a run and what they want: draws exchanges and client scripts from the seed, within a climate.
#pragma once

#include "routes/model.h"
#include "sim/backend.h"
#include "sim/client.h"
#include "sim/ledger.h"
#include "sim/site.h"

namespace ebb::sim {

// How slow requests are by nature. That is no trouble: nothing may be lost for it.
struct Pace {
  std::uint32_t slow_gets = 0;  // per thousand; HEAD, PUT and DELETE are among them
  std::uint32_t slow_posts = 0;
  std::uint32_t quiet = 0;  // responses and tunnels that pause, of all
  Duration least = seconds{4};
  Duration most = seconds{12};
  Duration usual = milliseconds{30};  // at most, of all others
  std::uint32_t tunnels = 0;          // of GETs
};

// Which kinds of trouble a run has. Without any, every exchange must be answered.
struct Climate {
  bool nasty_links = false;   // crumbs, tiny buffers, jitter
  bool strikes = false;       // backends fail single exchanges
  bool idle_closes = false;   // backends close idle connections at bad moments
  bool rude_clients = false;  // clients leave in the middle
  bool malformed = false;     // clients send what is no HTTP
  bool path_faults = false;   // connections are severed or fall silent
  bool host_faults = false;   // backends refuse, or do not answer connection attempts
  bool descriptors_scarce = false;
  bool endpoint_changes = false;  // new snapshots in mid-run
  bool listener_changes = false;
  bool checks = false;       // endpoints are checked all the time
  bool steady_load = false;  // of many small exchanges, on a scene
  bool relay_only = false;   // the inhabitant knows no HTTP: nothing that a relay could not do
  const Pace* pace = nullptr;
  bool sparse = false;   // clients ask only now and then
  bool alike = false;    // slow and quick requests have the same path
  bool mirrors = false;  // requests are copied, to a backend of its own or to their own
  Tongues tongues{};     // what is spoken besides HTTP/1 over TCP

  static Climate draw(base::Rng& rng);
  // Trouble that may hit any exchange without trace in the Ledger.
  bool excuses_all() const { return path_faults || host_faults || descriptors_scarce; }
};

routes::Timeouts draw_timeouts(base::Rng& rng);
routes::BackendModel draw_backend(base::Rng& rng, const Climate& climate, std::uint32_t number);
// Of an exchange that meets a backend which closes idle connections: why it may be lost, or null.
const char* excuse_of_race(const Exchange& exchange, const Group& group);
BackendHabits draw_habits(base::Rng& rng, const Climate& climate);
Voice draw_voice(base::Rng& rng, const Climate& climate, Site& site);
Exchange draw_exchange(base::Rng& rng, const Climate& climate, std::uint32_t backends);
// Without exchanges: the caller draws those and enters them in the Ledger.
ClientScript draw_script(base::Rng& rng, const Climate& climate, const routes::Timeouts& timeouts);

}  // namespace ebb::sim
