#include "control/canary_probing.h"

#include <utility>

#include "gate/book.h"
#include "reactor/epoll.h"

namespace ebb::control {

using observe::EventLog;

namespace {

// Compares what a prober is made with; the rest follows the configuration while it runs.
bool same_prober(const routes::CanaryModel& a, const routes::CanaryModel& b) {
  return a.every == b.every && a.budget == b.budget && a.ports == b.ports && a.pods == b.pods && a.settle == b.settle;
}

canary::ProberOptions options_of(const routes::CanaryModel& model, std::uint64_t seed) {
  canary::ProberOptions options{.schedule = {.every = model.every, .budget = model.budget},
                                .pods = model.pods,
                                .settle = model.settle,
                                .seed = seed};
  for (const std::uint32_t port : model.ports) options.rotation.ports.push_back(static_cast<std::uint16_t>(port));
  return options;
}

}  // namespace

struct CanaryProbing::Running {
  explicit Running(std::unique_ptr<reactor::EpollReactor> made) : reactor(std::move(made)), resolver(*reactor) {}
  ~Running() {
    reactor->stop();
    if (thread.joinable()) thread.join();
  }

  std::unique_ptr<reactor::EpollReactor> reactor;
  canary::ThreadedResolver resolver;
  std::optional<canary::Prober> prober;
  std::uint16_t port = 0;  // the wanted port of the endpoints; used by the thread
  std::thread thread;
};

CanaryProbing::CanaryProbing(Roster& roster, EndpointEvents& endpoint_events, observe::EventLog& events)
    : roster_(roster), endpoint_events_(endpoint_events), events_(events) {}

CanaryProbing::~CanaryProbing() { stop(); }

void CanaryProbing::follow(const routes::Snapshot& snapshot, CanaryLegs legs) {
  const std::optional<routes::CanaryModel>& wanted = snapshot.model().canary;
  if (model_ && !(wanted && same_prober(*model_, *wanted))) {
    stop();
    give_endpoints_back(snapshot.model());
  }
  {
    const std::lock_guard lock(mutex_);
    model_ = wanted;
  }
  endpoint_events_.leave_out(wanted ? wanted->backends : std::vector<std::string>());
  if (!wanted) return;
  if (running_ == nullptr) {
    auto made = begin();
    if (made == nullptr) return;
    const std::lock_guard lock(mutex_);
    running_ = std::move(made);
  }
  const bool same_legs = legs.fingerprint == fingerprint_;
  fingerprint_ = legs.fingerprint;
  running_->reactor->post([this, &running = *running_, legs = std::move(legs.legs), same_legs,
                           ours = canary::OwnConfiguration{snapshot.generation(), snapshot.model().digest}]() mutable {
    move_endpoints(running.port);  // new endpoints
    running.prober->set_configuration(std::move(ours));
    if (!same_legs) running.prober->set_legs(std::move(legs));
    publish(*running.prober);
  });
}

std::unique_ptr<CanaryProbing::Running> CanaryProbing::begin() {
  auto reactor = reactor::EpollReactor::make({});
  if (!reactor) {
    events_.error("canary_not_started", {{"reason", "the kernel refused an epoll set"}});
    return nullptr;
  }
  auto made = std::make_unique<Running>(std::move(*reactor));
  Running& running = *made;
  const auto seed = static_cast<std::uint64_t>(running.reactor->clock().wall().time_since_epoch().count());
  running.prober.emplace(
      *running.reactor, running.resolver, options_of(*model_, seed),
      canary::Prober::Callbacks{.probed =
                                    [this, &running](const canary::Leg& leg, const canary::ProbeResult& result,
                                                     canary::LegState::News news, const canary::Condition&) {
                                      probed(leg, result, news);
                                      publish(*running.prober);
                                    },
                                .port_wanted =
                                    [this, &running](std::uint16_t port) {
                                      running.port = port;
                                      move_endpoints(port);
                                    }});
  running.thread = std::thread([&running] {
    pthread_setname_np(pthread_self(), "canary");
    running.reactor->run(*running.prober);
  });
  return made;
}

void CanaryProbing::stop() {
  std::unique_ptr<Running> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = std::move(running_);
  }
  ended.reset();  // without the lock, which its thread may want
  fingerprint_.clear();
  const std::lock_guard lock(mutex_);
  facts_ = nullptr;
  told_ = canary::Truth::unknown;
}

// As an operator's change would: work at the old port drains, new work goes to the new port.
void CanaryProbing::move_endpoints(std::uint16_t port) {
  std::vector<std::string> backends;
  {
    const std::lock_guard lock(mutex_);
    backends = model_->backends;
  }
  for (const std::string& backend : backends) {
    const SharedEndpointList list = roster_.list(backend);
    if (list == nullptr) continue;
    for (const gate::ListedEndpoint& endpoint : list->endpoints) {
      if (endpoint.address.port() == port) continue;
      base::Address moved = endpoint.address;
      moved.set_port(port);
      (void)roster_.set_address(backend, endpoint.name, moved);  // refused: the endpoint is gone
    }
  }
}

// Moves them back to their configured addresses.
void CanaryProbing::give_endpoints_back(const routes::Model& model) {
  for (const routes::BackendModel& backend : model.backends) {
    if (!model_->has(backend.name)) continue;
    for (const routes::EndpointModel& endpoint : backend.endpoints) {
      (void)roster_.set_address(backend.name, endpoint.name, endpoint.address);
    }
  }
}

void CanaryProbing::probed(const canary::Leg& leg, const canary::ProbeResult& result, canary::LegState::News news) {
  if (news == canary::LegState::News::none) return;
  const canary::FaultFacts& fault = canary::facts(result.judgement.fault);
  if (news == canary::LegState::News::rose) return events_.info("canary_leg_recovered", {{"leg", leg.name()}});
  events_.warning("canary_leg_failing", {{"leg", leg.name()},
                                         {"host", leg.authority},
                                         {"peer", result.peer},
                                         {"fault", fault.name},
                                         {"meaning", fault.words},
                                         {"detail", result.judgement.detail},
                                         {"remedy", fault.remedy}});
}

void CanaryProbing::publish(const canary::Prober& prober) {
  auto facts = std::make_shared<const canary::ProberFacts>(prober.facts());
  const canary::Condition& condition = facts->condition;
  bool turned = false;
  {
    const std::lock_guard lock(mutex_);
    facts_ = facts;
    turned = condition.status != canary::Truth::unknown && std::exchange(told_, condition.status) != condition.status;
  }
  if (!turned) return;
  const auto level = condition.status == canary::Truth::yes ? EventLog::Level::info : EventLog::Level::error;
  const EventLog::Field fields[] = {
      {"type", canary::Condition::type}, {"status", canary::name(condition.status)}, {"reason", condition.reason}};
  events_.write(level, "canary_condition", fields, condition.since);
}

CanaryProbing::Facts CanaryProbing::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

void CanaryProbing::post(std::move_only_function<void()> task) {
  std::unique_lock lock(mutex_);
  if (running_ != nullptr) return running_->reactor->post(std::move(task));
  lock.unlock();
  task();
}

void CanaryProbing::read_book(observe::Claims& out) {
  Running* running = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const bool inside = running_ != nullptr && running_->thread.get_id() == std::this_thread::get_id();
    if (!inside) return;  // no canary, at least when the task began
    running = running_.get();
  }
  reactor::Holdings holdings;
  for (reactor::HoldingsCursor cursor; running->reactor->read_holdings(cursor, holdings);) {
  }
  for (const reactor::Holding& holding : holdings) {
    const bool owned = running->prober->owns(holding.owner, holding.socket);
    out.push_back(gate::claim_of(holding, observe::ClaimKind::canary, owned));
  }
}

}  // namespace ebb::control
