#include "admin/worker_scene.h"

#include "admin/gather.h"
#include "admin/pages.h"

namespace ebb::admin {
namespace {

struct WorkerFacts {
  std::vector<gate::EndpointFacts> endpoints;
  std::vector<gate::BackendFacts> backends;
};

std::vector<BackendSum> sums_of(const gate::Roster& roster, Replies<WorkerFacts> replies) {
  Replies<std::vector<gate::EndpointFacts>> endpoints(replies.size());
  Replies<std::vector<gate::BackendFacts>> backends(replies.size());
  for (std::size_t worker = 0; worker < replies.size(); ++worker) {
    if (!replies[worker]) continue;
    endpoints[worker] = std::move(replies[worker]->endpoints);
    backends[worker] = std::move(replies[worker]->backends);
  }
  return sum_up(roster.lists(), endpoints, backends);
}

}  // namespace

void gather_sums(Server& server, const Sources& sources, std::move_only_function<void(std::vector<BackendSum>)> use) {
  gather<WorkerFacts>(
      sources, server.door(), server.alarms(), worker_patience,
      [&sources](std::size_t worker) { return WorkerFacts{sources.endpoints(worker), sources.backends(worker)}; },
      [&sources, use = std::move(use)](Replies<WorkerFacts> replies) mutable {
        use(sums_of(*sources.roster, std::move(replies)));
      });
}

void gather_scene(Server& server, const Sources& sources, std::move_only_function<void(RuntimeScene)> use) {
  gather_sums(server, sources, [&, use = std::move(use)](std::vector<BackendSum> sums) mutable {
    gather<observe::Counters>(
        sources, server.door(), server.alarms(), worker_patience, sources.counters,
        [&sources, sums = std::move(sums), use = std::move(use)](const Replies<observe::Counters>& replies) mutable {
          RuntimeScene scene{.backends = std::move(sums), .listeners = sources.listeners()};
          for (const auto& counters : replies) {
            if (counters) scene.counters.add(*counters);
          }
          scene.labels = sources.labels;
          scene.roster = sources.roster;
          scene.workers = sources.workers;
          scene.stopping = !sources.readiness().ready;
          scene.version = sources.version;
          use(std::move(scene));
        });
  });
}

}  // namespace ebb::admin
