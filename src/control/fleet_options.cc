#include "control/fleet_options.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

namespace ebb::control {

namespace {

std::uint32_t usable_processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(CPU_COUNT(&allowed), 1));
}

// A client may need a second descriptor for its endpoint, so clients get half of them.
std::uint32_t clients_max(std::uint32_t wished) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const auto fitting = static_cast<std::uint32_t>(std::clamp<rlim_t>(limit.rlim_cur / 2, 16, 4'000'000));
  return wished == 0 ? fitting : std::min(wished, fitting);
}

reactor::Kind io_kind(config::Io io) {
  switch (io) {
    case config::Io::automatic: return reactor::Kind::automatic;
    case config::Io::uring: return reactor::Kind::uring;
    case config::Io::epoll: return reactor::Kind::epoll;
  }
  return reactor::Kind::automatic;
}

}  // namespace

FleetOptions fleet_options(const config::Loaded& loaded) {
  return {.workers = loaded.startup.workers == 0 ? usable_processors() : loaded.startup.workers,
          .io = io_kind(loaded.startup.io),
          .clients_max = clients_max(loaded.model.limits.connections)};
}

}  // namespace ebb::control
