#include "app/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "admin/api.h"
#include "admin/commands.h"
#include "admin/dashboard.h"
#include "admin/openings.h"
#include "admin/pages.h"
#include "admin/server.h"
#include "app/admin_sources.h"
#include "app/audited_rooms.h"
#include "control/endpoint_events.h"
#include "control/file_provider.h"
#include "control/fleet_options.h"
#include "control/rollout.h"
#include "observe/self_audit.h"
#include "observe/text_escape.h"

namespace ebb::app {

namespace {

constexpr base::Duration stop_grace = std::chrono::seconds{10};
constexpr time_t ticket_key_seconds = 3600;

// Waits for a signal, at most until new ticket keys are due; 0 if they are due.
int next_signal(const sigset_t& awaited) {
  const timespec timeout{ticket_key_seconds, 0};
  for (;;) {
    const int signal = sigtimedwait(&awaited, nullptr, &timeout);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
  }
}

void add_admin(admin::Server& server, const admin::Sources& sources) {
  admin::add_dashboard(server);
  admin::add_pages(server, sources);
  admin::add_endpoint_api(server, sources);
  admin::add_connection_api(server, sources);
  admin::add_audit_api(server, sources);
  admin::add_canary_api(server, sources);
  admin::add_drain_api(server, sources, std::make_shared<admin::Drains>(sources, server));
  server.set_commands([commands = std::make_shared<admin::Commands>(sources, server)](
                          std::string_view command, admin::Reply reply) { commands->run(command, std::move(reply)); });
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
  const observe::OpenDescriptors inherited = observe::open_descriptors();
  const sigset_t awaited = block_signals();
  const base::SystemClock clock;
  observe::EventLog events(STDERR_FILENO, observe::EventLog::Format::text, clock);
  control::FileProvider file(options.config_path, events);
  file.watch();
  auto loaded = config::load(options.config_path);
  if (!loaded) {
    fmt::print(stderr, "{}\n", config::text_of(loaded.error()));
    return 1;
  }
  const config::Startup startup = loaded->startup;
  base::Labels labels;
  std::string problem;
  const auto cannot_start = [&problem](std::string_view what) {
    fmt::print(stderr, "ebbgate: {}: {}\n", what, observe::visible(problem));
    return 1;
  };

  control::FleetOptions fleet_options = control::fleet_options(*loaded);
  const auto access_log = observe::AccessLog::open(loaded->model.access_log.path, fleet_options.workers, problem,
                                                   gate::log_format(loaded->model.access_log.format));
  if (access_log == nullptr) return cannot_start("access_log.path");
  observe::EventOutbox outbox(events, clock);
  control::EndpointEvents endpoint_events(outbox, clock);
  fleet_options.access_log = access_log.get();
  fleet_options.on_health_change = [&](const gate::HealthChange& change) { endpoint_events.on_health_change(change); };
  fleet_options.on_relief = [&](const gate::SilenceRelief& relief) { endpoint_events.on_relief(relief); };
  const auto fleet = control::Fleet::start(fleet_options, labels, problem);
  if (fleet == nullptr) return cannot_start("io");
  endpoint_events.follow(*fleet);

  control::Roster roster(labels, [&](const control::SharedEndpointList& list) {
    fleet->change_endpoints(list);
    endpoint_events.on_list(list);
  });
  control::CanaryProbing canary(roster, endpoint_events, events);
  control::Rollout rollout({control::FileProvider::name}, *fleet, roster, endpoint_events, canary, labels, events,
                           clock);
  const std::vector<std::string> files = config::files_of(loaded->model);
  const control::Outcome begun =
      rollout.apply({.provider = control::FileProvider::name, .model = std::move(loaded->model)});
  if (!begun.applied()) return 1;  // it has reported the reason

  std::atomic<bool> draining = false;
  observe::SelfAudit audit({.every = startup.audit_every}, events, clock);
  const admin::Sources sources = admin_sources(*fleet, roster, rollout, canary, *access_log, audit, labels, draining);
  admin::Server admin;
  add_admin(admin, sources);
  const auto openings = admin::openings_of(startup);
  if (!openings) {
    problem = openings.error();
    return cannot_start("admin");
  }
  if (!admin.start(*openings, problem)) return cannot_start("admin");
  file.serve(rollout, startup, files);
  audit.start(audited_rooms(*fleet, admin, canary, file, *access_log, inherited));
  events.info("started", {{"version", EBB_VERSION},
                          {"io", fleet->io_name()},
                          {"workers", std::to_string(fleet->size())},
                          {"admin", startup.admin.bind.text()},
                          {"runtime", startup.runtime}});

  for (;;) {
    const int signal = next_signal(awaited);
    if (signal == SIGTERM || signal == SIGINT) break;
    if (signal == SIGHUP) file.now();
    if (signal == SIGUSR1) access_log->reopen();
    if (signal == 0) rollout.tickets().rotate();
  }
  draining = true;
  audit.stop();
  file.stop();
  canary.stop();
  events.info("stopping",
              {{"grace_s", std::to_string(std::chrono::duration_cast<std::chrono::seconds>(stop_grace).count())}});
  fleet->stop(stop_grace);
  events.info("stopped");
  return 0;
}

}  // namespace ebb::app
