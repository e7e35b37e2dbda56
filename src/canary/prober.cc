#include "canary/prober.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "canary/probe.h"

namespace ebb::canary {

struct Prober::Walk {
  Walk(Leg of, Tolerance tolerance) : leg(std::move(of)), state(tolerance) {}

  Leg leg;
  LegState state;
  std::optional<ProbeResult> last;
  PhaseHistograms durations;
  base::Handle self;
  std::size_t index = 0;  // index among the legs
  base::Timer due;
  base::Timer budget;
  base::Instant began{};
  std::uint64_t left = 0;   // probes left
  bool name_asked = false;  // the resolver has not answered yet, perhaps since the previous probe
  std::unique_ptr<Probe> probe;
};

Prober::Prober(reactor::Reactor& reactor, Resolver& resolver, ProberOptions options, Callbacks callbacks)
    : reactor_(reactor),
      resolver_(resolver),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      random_(options_.seed),
      rotation_(options_.rotation) {
  if (callbacks_.port_wanted && rotation_.wanted()) callbacks_.port_wanted(*rotation_.wanted());
}

Prober::~Prober() = default;

Prober::Walk* Prober::find(base::Owner owner) { return walks_.find(owner.handle); }

void Prober::set_legs(std::vector<Leg> legs) {
  std::map<std::string, base::Handle> known;
  for (const base::Handle handle : order_) known.emplace(walks_.find(handle)->leg.name(), handle);
  order_.clear();
  std::erase_if(agreements_, [&legs](const auto& entry) {
    return std::ranges::find(legs, entry.first, &Leg::replica) == legs.end();
  });
  rounds_ = Rounds(legs.size());
  for (Leg& leg : legs) {
    const auto before = known.extract(leg.name());
    const base::Handle handle = walks_.emplace(std::move(leg), options_.tolerance);
    Walk& walk = *walks_.find(handle);
    if (!before.empty()) {
      Walk& old = *walks_.find(before.mapped());
      walk.state = std::move(old.state);
      walk.last = std::move(old.last);
      walk.durations = old.durations;
      walks_.erase(before.mapped());
    }
    walk.self = handle;
    walk.index = order_.size();
    walk.left = options_.probes_per_leg;
    walk.due.set_owner({due, handle});
    walk.budget.set_owner({budget, handle});
    walk.probe = std::make_unique<Probe>(reactor_, walk.leg, base::Owner{connection, handle}, random_);
    order_.push_back(handle);
    if (walk.left > 0) reactor_.timers().arm(walk.due, options_.schedule.first_at(reactor_.now(), random_));
  }
  for (const auto& [name, handle] : known) walks_.erase(handle);
}

std::size_t Prober::sockets() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(order_, [this](base::Handle handle) { return walks_.find(handle)->probe->has_socket(); }));
}

bool Prober::owns(base::Owner owner, base::Handle socket) {
  const Walk* const walk = find(owner);
  return walk != nullptr && walk->probe->socket() == socket;
}

ProberFacts Prober::facts() const {
  ProberFacts facts;
  std::vector<NamedCondition> conditions;
  for (const base::Handle handle : order_) {
    const Walk& walk = *walks_.find(handle);
    facts.legs.push_back({walk.leg, walk.state, walk.last, walk.durations});
    conditions.push_back({walk.leg.name(), walk.state.condition()});
  }
  facts.condition = sum_up(conditions);
  facts.wanted_port = rotation_.wanted();
  facts.port_moves = rotation_.moves();
  facts.sockets = sockets();
  facts.connections = connections_;
  return facts;
}

Expectation Prober::expectation(const Walk& walk) {
  const Leg& leg = walk.leg;
  const bool websocket = leg.protocol == Protocol::websocket;
  Expectation expected;
  expected.status = websocket ? 101 : 200;
  expected.nonce = fmt::format("{:016x}", random_.next());
  expected.echo = options_.echo;
  expected.body = websocket ? expected.nonce : options_.body;
  // A passthrough connection stays with its first endpoint.
  const bool tied = leg.kind == Kind::passthrough && leg.protocol == Protocol::http1_reused;
  expected.ports = leg.own && !tied ? rotation_.right_ports(reactor_.now()) : rotation_.ports();
  expected.pods = options_.pods;
  expect_configuration(leg, expected);
  expected.slow_above = options_.schedule.budget;
  return expected;
}

void Prober::expect_configuration(const Leg& leg, Expectation& expected) const {
  if (!ours_ || !says_configuration(leg.kind)) return;
  if (leg.own) {
    expected.generation = ours_->generation;
  } else if (const auto known = agreements_.find(leg.replica); known != agreements_.end()) {
    expected.stale_digest = known->second.stale(ours_->digest, reactor_.now());
  }
}

// A wrong answer whose configuration was not checked may not come from the router.
void Prober::note_configuration(const Leg& leg, const ProbeResult& result) {
  if (!ours_ || leg.own || !says_configuration(leg.kind)) return;
  if (!result.good() && result.judgement.fault != Fault::stale_generation) return;
  const Agreement::Times times{.settle = options_.settle, .forget = options_.settle + 2 * options_.schedule.every};
  Agreement& agreement = agreements_.try_emplace(leg.replica, times).first->second;
  agreement.note(result.answer.configuration.value_or(""), ours_->digest, reactor_.now());
}

void Prober::begin(Walk& walk) {
  walk.began = reactor_.now();
  walk.left -= 1;
  const bool had_socket = walk.probe->has_socket();
  reactor_.timers().arm(walk.budget, reactor_.now() + options_.schedule.budget);
  conclude(walk, walk.probe->begin(expectation(walk)));
  if (walk.probe->awaits_name()) look_up(walk);
  if (!had_socket && walk.probe->has_socket()) connections_ += 1;
}

// An open question from an earlier probe will answer this one too: at most one question per leg.
void Prober::look_up(Walk& walk) {
  if (std::exchange(walk.name_asked, true)) return;
  resolver_.resolve(walk.leg.host, [this, alive = std::weak_ptr(alive_), handle = walk.self](const auto& address) {
    if (alive.expired()) return;
    Walk* const asker = walks_.find(handle);
    if (asker == nullptr) return;
    asker->name_asked = false;
    if (!asker->probe->awaits_name()) return;
    conclude(*asker, asker->probe->on_resolved(address));
    if (asker->probe->has_socket()) connections_ += 1;
  });
}

void Prober::conclude(Walk& walk, std::optional<ProbeResult> result) {
  if (!result) return;
  walk.budget.disarm();
  result->at = reactor_.clock().wall();
  result->expires_soon = result->certificate && result->certificate->expires < result->at + options_.expiry_warning;
  const bool failing_before = walk.state.succeeding() == Truth::no;
  note_configuration(walk.leg, *result);
  const LegState::News news = walk.state.note(result->judgement, result->at);
  walk.durations.add(result->phases, result->good());
  walk.last = std::move(result);
  const bool doubted = !walk.last->good() && walk.state.succeeding() != Truth::no;
  if (walk.left > 0) {
    reactor_.timers().arm(walk.due, options_.schedule.next_at(walk.began, reactor_.now(), doubted, random_));
  }
  count_round(walk, failing_before);
  if (callbacks_.probed) callbacks_.probed(walk.leg, *walk.last, news, walk.state.condition());
}

void Prober::count_round(const Walk& walk, bool failing_before) {
  using enum Rounds::Outcome;
  const Rounds::Outcome outcome = walk.last->good() ? good : failing_before ? excused : bad;
  const std::optional<bool> round = rounds_.note(walk.index, outcome);
  if (!round || !rotation_.round_ended(*round, reactor_.now())) return;
  if (callbacks_.port_wanted) callbacks_.port_wanted(*rotation_.wanted());
}

// The prober has no listeners.
void Prober::on_accepted(base::Owner, reactor::SocketId socket, const base::Address&) {
  reactor_.close(socket, reactor::CloseMode::reset);
}

void Prober::on_connected(base::Owner owner) {
  if (Walk* const walk = find(owner)) conclude(*walk, walk->probe->on_connected());
}

void Prober::on_received(base::Owner owner, base::Slice bytes) {
  if (Walk* const walk = find(owner)) conclude(*walk, walk->probe->on_received(std::move(bytes)));
}

void Prober::on_peer_finished(base::Owner owner) {
  if (Walk* const walk = find(owner)) conclude(*walk, walk->probe->on_peer_finished());
}

void Prober::on_failed(base::Owner owner, const base::Error& error) {
  if (Walk* const walk = find(owner)) conclude(*walk, walk->probe->on_failed(error));
}

void Prober::on_timer(base::Owner owner) {
  Walk* const walk = find(owner);
  if (walk == nullptr) return;
  if (owner.kind == due) return begin(*walk);
  conclude(*walk, walk->probe->on_timeout());
}

}  // namespace ebb::canary
