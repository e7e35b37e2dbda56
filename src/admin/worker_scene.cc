#include "admin/worker_scene.h"

#include "admin/ask_workers.h"
#include "admin/pages.h"

namespace ebb::admin {
namespace {

struct WorkerFacts {
  std::vector<gate::EndpointFacts> endpoints;
  std::vector<gate::BackendFacts> backends;
};

EndpointSums sums_of(const control::Roster& roster, Replies<WorkerFacts> replies) {
  EndpointSums sums;
  Replies<std::vector<gate::EndpointFacts>> endpoints(replies.size());
  Replies<std::vector<gate::BackendFacts>> backends(replies.size());
  for (std::size_t worker = 0; worker < replies.size(); ++worker) {
    if (!replies[worker]) {
      sums.workers_silent += 1;
      continue;
    }
    endpoints[worker] = std::move(replies[worker]->endpoints);
    backends[worker] = std::move(replies[worker]->backends);
  }
  sums.backends = sum_up(roster.lists(), endpoints, backends);
  return sums;
}

}  // namespace

void gather_sums(Server& server, const Sources& sources, std::move_only_function<void(EndpointSums)> use) {
  ask_workers<WorkerFacts>(
      sources, server.door(), server.alarms(), worker_timeout,
      [&sources](std::size_t worker) { return WorkerFacts{sources.endpoints(worker), sources.backends(worker)}; },
      [&sources, use = std::move(use)](Replies<WorkerFacts> replies) mutable {
        use(sums_of(*sources.roster, std::move(replies)));
      });
}

void SharedSums::ask(Use use) {
  waiting_.push_back(std::move(use));
  if (!asking_) begin();
}

void SharedSums::begin() {
  asking_ = true;
  auto round = std::make_unique<Round>();
  round->uses = std::exchange(waiting_, {});
  gather_sums(server_, sources_, [self = shared_from_this(), round = std::move(round)](EndpointSums sums) mutable {
    round->sums = std::move(sums);
    self->serve_one(std::move(round));
  });
}

// Sends each answer through the mailbox before making the next.
void SharedSums::serve_one(std::unique_ptr<Round> round) {
  round->uses.front()(round->sums);
  round->uses.pop_front();
  if (!round->uses.empty()) {
    return server_.door()->post(
        [self = shared_from_this(), round = std::move(round)]() mutable { self->serve_one(std::move(round)); });
  }
  asking_ = false;
  if (!waiting_.empty()) begin();
}

void gather_scene(Server& server, const Sources& sources, std::move_only_function<void(RuntimeScene)> use) {
  gather_sums(server, sources, [&, use = std::move(use)](EndpointSums sums) mutable {
    ask_workers<observe::Counters>(
        sources, server.door(), server.alarms(), worker_timeout, sources.counters,
        [&sources, sums = std::move(sums), use = std::move(use)](const Replies<observe::Counters>& replies) mutable {
          RuntimeScene scene{.backends = std::move(sums.backends), .listeners = sources.listeners()};
          scene.workers_silent = sums.workers_silent;
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
