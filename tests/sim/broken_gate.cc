#include "tests/sim/broken_gate.h"

#include <unordered_map>

namespace ebb::sim {

namespace {

constexpr std::chrono::seconds impatience{3};

class BrokenGate final : public Inhabitant {
 public:
  BrokenGate(reactor::Reactor& reactor, base::Labels& labels, gate::Siblings siblings, Flaw flaw)
      : labels_(labels), number_(siblings.self), gate_(make_gate(reactor, labels, std::move(siblings))), flaw_(flaw) {}

  reactor::Handler& handler() override { return gate_->handler(); }
  void drain() override { gate_->drain(); }
  gate::Worker* worker() override { return gate_->worker(); }

  void apply(gate::Configuration configuration) override {
    applied_ += 1;
    if (flaw_ == Flaw::hears_of_no_change && applied_ > 1) return;
    routes::Model model = configuration.snapshot->model();
    spoil(model);
    std::shared_ptr<const routes::Snapshot> spoilt;
    routes::Snapshot::compile(std::move(model), configuration.snapshot->generation(), labels_, spoilt);
    configuration.snapshot = std::move(spoilt);
    gate_->apply(std::move(configuration));
  }
  void change_endpoints(const gate::EndpointList& list) override {
    if (flaw_ != Flaw::hears_of_no_change) gate_->change_endpoints(list);
  }
  std::vector<gate::EndpointFacts> endpoint_facts() override {
    std::vector<gate::EndpointFacts> facts = gate_->endpoint_facts();
    if (flaw_ == Flaw::uses_what_it_calls_dead && !facts.empty()) {
      facts.front().health = lifecycle::Health::down;
      facts.front().why = base::Cause::backend_dead;
      facts.front().since = {};
    }
    if (flaw_ == Flaw::doubts_alone && number_ == 0 && !facts.empty())
      facts.front().health = lifecycle::Health::suspect;
    return facts;
  }
  observe::Counters collect() override {
    observe::Counters counters = gate_->collect();
    auto& clients = counters.closed[static_cast<std::size_t>(base::Side::client)];
    if (flaw_ == Flaw::closes_without_a_cause) clients.fill(0);
    if (flaw_ == Flaw::blames_itself) clients[static_cast<std::size_t>(base::Cause::internal)] += 1;
    if (flaw_ == Flaw::cuts_by_silence) clients[static_cast<std::size_t>(base::Cause::backend_silent)] += 1;
    if (flaw_ == Flaw::leaves_one_waiting) counters.requests_held += 1;
    return counters;
  }
  gate::Audit audit() override {
    gate::Audit audit = gate_->audit();
    if (flaw_ == Flaw::keeps_an_endpoint) audit.endpoints += 1;
    return audit;
  }
  void when_idle(std::uint64_t identity, std::move_only_function<void()> callback) override {
    if (flaw_ == Flaw::says_drained_at_once) return callback();
    if (flaw_ == Flaw::never_says_drained) return;
    gate_->when_idle(identity, [this, identity, callback = std::move(callback)]() mutable {
      const auto renamed = renamed_.find(identity);
      if (renamed == renamed_.end()) return callback();
      gate_->when_idle(renamed->second, std::move(callback));
    });
  }

 private:
  // What it makes of the configuration that it is given.
  void spoil(routes::Model& model) {
    if (flaw_ == Flaw::indulges_leaky_clients) model.limits.idle_per_client = 0;
    if (flaw_ == Flaw::refuses_without_a_cause) model.cause_header = false;
    if (flaw_ == Flaw::cuts_quiet_streams) model.timeouts.backend_body = model.timeouts.tunnel_idle = impatience;
    for (routes::BackendModel& backend : model.backends) {
      if (flaw_ == Flaw::hoards_idle_connections) backend.idle_per_endpoint = backend.idle_per_endpoint_max = 1000;
      if (flaw_ == Flaw::tries_once) backend.retries = 0;
      if (flaw_ == Flaw::takes_slow_for_dead) backend.response_timeout = impatience;
      if (flaw_ == Flaw::gives_up_soon) backend.response_timeout = std::chrono::milliseconds{5};
      if (applied_ == 1) continue;
      if (flaw_ == Flaw::passes_its_cookie_on) backend.sticky.reset();
      for (routes::EndpointModel& endpoint : backend.endpoints)
        if (flaw_ == Flaw::forgets_who_was_bound) rename(backend.name, endpoint);
    }
  }

  void rename(const std::string& backend, routes::EndpointModel& endpoint) {
    const std::uint64_t before = routes::endpoint_identity(backend, endpoint.name, endpoint.address);
    endpoint.name += "-anew";
    renamed_[before] = routes::endpoint_identity(backend, endpoint.name, endpoint.address);
  }

  base::Labels& labels_;
  std::size_t number_;
  std::unique_ptr<Inhabitant> gate_;
  std::unordered_map<std::uint64_t, std::uint64_t> renamed_;  // identities
  Flaw flaw_;
  std::uint32_t applied_ = 0;
};

}  // namespace

MakeInhabitant make_broken_gate(Flaw flaw) {
  return [flaw](reactor::Reactor& reactor, base::Labels& labels, gate::Siblings siblings) {
    return std::make_unique<BrokenGate>(reactor, labels, std::move(siblings), flaw);
  };
}

}  // namespace ebb::sim
