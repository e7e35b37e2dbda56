#include "app/run.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "app/rollout.h"


namespace ebb::app {

namespace {

constexpr base::Duration stop_grace = std::chrono::seconds{10};
constexpr time_t ticket_key_seconds = 3600;

std::uint32_t usable_processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(CPU_COUNT(&allowed), 1));
}

// Every client may need a second descriptor for its endpoint, and a third pair for a pipe; the rest is for ourselves.
std::uint32_t clients_that_fit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::uint32_t>(std::clamp<rlim_t>(limit.rlim_cur / 2, 16, 4'000'000));
}

reactor::Kind io_kind(config::Io io) {
  switch (io) {
    case config::Io::automatic: return reactor::Kind::automatic;
    case config::Io::uring: return reactor::Kind::uring;
    case config::Io::epoll: return reactor::Kind::epoll;
  }
  return reactor::Kind::automatic;
}

// Waits for a signal, at most until the ticket keys are due for a new one; 0: they are.
int next_signal(const sigset_t& awaited) {
  const timespec patience{ticket_key_seconds, 0};
  for (;;) {
    const int signal = sigtimedwait(&awaited, nullptr, &patience);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
  }
}

sigset_t block_signals() {
  sigset_t awaited;
  sigemptyset(&awaited);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&awaited, signal);
  pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return awaited;
}

}  // namespace

int run(const RunOptions& options) {
  const sigset_t awaited = block_signals();
  auto loaded = config::load(options.config_path);
  if (!loaded) {
    fmt::print(stderr, "{}\n", config::text_of(loaded.error()));
    return 1;
  }
  const config::Startup startup = loaded->startup;
  const base::SystemClock clock;
  observe::EventLog events(STDERR_FILENO, observe::EventLog::Format::text, clock);
  base::Labels labels;

  const std::uint32_t fitting = clients_that_fit();
  const std::uint32_t wished = loaded->model.limits.connections;
  gate::FleetOptions fleet_options{.workers = startup.workers == 0 ? usable_processors() : startup.workers,
                                   .io = io_kind(startup.io),
                                   .clients_max = wished == 0 ? fitting : std::min(wished, fitting)};
  std::string problem;
  auto access_log = observe::AccessLog::open(loaded->model.access_log.path, fleet_options.workers, problem);
  if (access_log == nullptr) {
    fmt::print(stderr, "ebbgate: access_log.path: {}\n", problem);
    return 1;
  }
  fleet_options.access_log = access_log.get();
  auto fleet = gate::Fleet::start(fleet_options, labels, problem);
  if (fleet == nullptr) {
    fmt::print(stderr, "ebbgate: io: {}\n", problem);
    return 1;
  }
  Rollout rollout(*fleet, labels, events, clock);
  const std::vector<std::string> watched = config::files_of(loaded->model);
  if (!rollout.apply(std::move(*loaded))) {
    fmt::print(stderr, "ebbgate: {}\n", rollout.status().last_refusal);
    return 1;
  }
  events.info("started", {{"io", fleet->io_name()}, {"workers", std::to_string(fleet->size())}});

  for (;;) {
    const int signal = next_signal(awaited);
    if (signal == SIGTERM || signal == SIGINT) break;
    if (signal == SIGUSR1) access_log->reopen();
    if (signal == 0) rollout.tickets().rotate();
  }
  events.info("stopping");
  fleet->stop(stop_grace);
  events.info("stopped");
  return 0;
}

}  // namespace ebb::app
