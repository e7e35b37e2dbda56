#include "sim/site.h"

#include <algorithm>

#include "routes/snapshot.h"

namespace ebb::sim {

namespace {

base::Address address_of(std::size_t group, std::size_t endpoint) {
  return *base::Address::parse("10." + std::to_string(group + 1) + "." + std::to_string(endpoint) + ".1:80");
}

routes::EndpointState state_of(Standing standing) {
  switch (standing) {
    case Standing::ready: return routes::EndpointState::ready;
    case Standing::leaving: return routes::EndpointState::leaving;
    case Standing::drain: return routes::EndpointState::drain;
    case Standing::maint:
    case Standing::absent: break;
  }
  return routes::EndpointState::maint;
}

}  // namespace

TlsSite& Site::tls() {
  if (tls_ == nullptr) tls_ = std::make_unique<TlsSite>(world_.rng().next());
  return *tls_;
}

void Site::add_group(routes::BackendModel model, const BackendHabits& habits, std::uint32_t endpoints,
                     const Voice& voice) {
  ledger_.set_retries(static_cast<std::uint32_t>(groups_.size()), model.retries);
  model.protocol = voice.protocol;
  if (voice.tls != nullptr) model.tls = routes::BackendTlsModel{.ca = "sim.pem", .name = "endpoint.test"};
  groups_.push_back({.model = std::move(model), .habits = habits, .voice = voice, .endpoints = {}});
  for (std::uint32_t i = 0; i < endpoints; ++i) {
    groups_.back().endpoints[spawn(groups_.size() - 1)].standing = Standing::ready;
  }
}

void Site::add_mirror(routes::BackendModel model, const BackendHabits& habits, std::uint32_t endpoints,
                      const Voice& voice) {
  mirror_ = true;
  model.sticky.reset();
  for (Group& group : groups_) group.mirror = model.name;
  add_group(std::move(model), habits, endpoints, voice);
}

void Site::mirror_to_itself(std::size_t group) {
  groups_[group].mirror = groups_[group].model.name;
  ledger_.mirrors_itself(static_cast<std::uint32_t>(group));
}

std::size_t Site::spawn(std::size_t index) {
  Group& group = groups_[index];
  const std::size_t number = group.endpoints.size();
  Endpoint& endpoint = group.endpoints.emplace_back();
  endpoint.name = "e" + std::to_string(number);
  endpoint.standing = Standing::absent;
  endpoint.weight = static_cast<std::uint32_t>(world_.rng().chance(700) ? 1 : world_.rng().between(2, 5));
  const auto backend = static_cast<std::uint32_t>(index);
  const bool mirrors = mirror_ && index + 1 == groups_.size();
  endpoint.process = std::make_unique<Backend>(world_, network_, mirrors ? ledger_.mirrors(backend) : ledger_,
                                               address_of(index, number), backend);
  endpoint.process->set_habits(group.habits);
  endpoint.process->set_voice(group.voice);
  endpoint.process->start();
  if (index == 0 && settings_.datagrams.valid()) listen_to_datagrams(endpoint);
  return number;
}

void Site::listen_to_datagrams(Endpoint& endpoint) {
  const Backend* process = endpoint.process.get();
  const auto may_get_work = [this, process] {
    return !process->retired() || world_.now() < process->retired_at() + milliseconds{100};
  };
  endpoint.datagrams =
      std::make_unique<DatagramEndpoint>(world_, datagram_network_, datagram_ledger_, process->address(), may_get_work);
  endpoint.datagrams->open();
}

void Site::start(const Settings& settings, std::uint32_t workers, const MakeInhabitant& make) {
  settings_ = settings;
  if (settings.datagrams.valid())
    for (Endpoint& endpoint : groups_.front().endpoints) listen_to_datagrams(endpoint);
  const base::Address host = *base::Address::parse("10.0.1.1:0");
  for (std::uint32_t i = 0; i < workers; ++i) {
    Place place;
    place.reactor =
        std::make_unique<SimReactor>(world_, network_, host, Kernel::draw(world_.rng()), settings.sockets, i);
    if (settings.datagrams.valid()) place.reactor->use_datagrams(datagram_network_);
    place.inhabitant = make(*place.reactor, labels_, siblings_of(i, workers));
    place.checker = std::make_unique<WorkerChecker>(world_, *place.reactor, *place.inhabitant);
    for (const Group& group : groups_) place.checker->limit_idle(group.model.name, group.model.idle_per_endpoint_max);
    if (settings.streams) place.checker->allow_streams(128);
    place.reactor->run(place.inhabitant->handler());
    workers_.push_back(std::move(place));
  }
  apply();
}

// By index: the others are still being made.
gate::Siblings Site::siblings_of(std::size_t self, std::size_t count) {
  return {self, count, [this](std::size_t index, std::move_only_function<void(gate::Worker&)> task) {
            Place& place = workers_[index];
            place.reactor->post([inhabitant = place.inhabitant.get(), task = std::move(task)]() mutable {
              task(*inhabitant->worker());
            });
          }};
}

routes::Model Site::model() const {
  routes::Model model;
  model.timeouts = settings_.timeouts;
  model.limits = settings_.limits;
  model.cause_header = true;
  model.listeners.push_back({.name = "web", .bind = settings_.listener, .half_close = true});  // some clients do
  if (settings_.secure_listener.valid())
    model.listeners.push_back({.name = "secure",
                               .bind = settings_.secure_listener,
                               .protocol = routes::Protocol::https,
                               .certificates = {{.certificate = "sim.pem", .key = "sim.pem", .ocsp = ""}},
                               .half_close = true});
  if (settings_.datagrams.valid())
    model.listeners.push_back({.name = "datagrams",
                               .bind = settings_.datagrams,
                               .protocol = routes::Protocol::udp,
                               .backend = groups_.front().model.name});
  for (const Group& group : groups_) {
    routes::BackendModel backend = group.model;
    for (const Endpoint& endpoint : group.endpoints) {
      if (endpoint.standing == Standing::absent) continue;
      backend.endpoints.push_back({.name = endpoint.name,
                                   .address = endpoint.process->address(),
                                   .weight = endpoint.weight,
                                   .state = state_of(endpoint.standing)});
    }
    // The order in the file means nothing; a new generation may well have another.
    std::ranges::rotate(backend.endpoints, backend.endpoints.begin() +
                                               static_cast<std::ptrdiff_t>(
                                                   generation_ % std::max<std::size_t>(backend.endpoints.size(), 1)));
    routes::RouteModel& route = model.routes.emplace_back();
    route.host = backend.name + ".test";
    route.backend = backend.name;
    if (group.voice.tls != nullptr) route.tls = routes::TlsMode::reencrypt;
    if (!group.mirror.empty()) route.policy.make().mirrors.push_back({.backend = group.mirror});
    if (group.attempt_timeout > Duration{}) route.policy.make().timeouts.attempt = group.attempt_timeout;
    model.backends.push_back(std::move(backend));
  }
  return model;
}

void Site::apply() {
  std::shared_ptr<const routes::Snapshot> snapshot;
  const auto refusals = routes::Snapshot::compile(model(), ++generation_, labels_, snapshot);
  if (!refusals.empty()) return world_.fail("the scenario's model was refused: " + refusals.front().reason);
  world_.note("apply", generation_);
  const gate::Configuration configuration = this->configuration(std::move(snapshot));
  for (Place& place : workers_)
    place.reactor->post([inhabitant = place.inhabitant.get(), configuration] { inhabitant->apply(configuration); });
  ask_for_receipts();
}

gate::Configuration Site::configuration(std::shared_ptr<const routes::Snapshot> snapshot) {
  gate::Configuration configuration;
  for (const routes::ListenerModel& listener : snapshot->model().listeners) {
    const bool secure = listener.protocol == routes::Protocol::https;
    configuration.tls.push_back(secure ? tls().listener() : nullptr);
  }
  for (const Group& group : groups_) {
    const Voice& voice = group.voice;
    const bool both = voice.protocol == routes::BackendProtocol::automatic;
    configuration.backend_tls.push_back(
        voice.tls == nullptr ? nullptr : tls().backend(voice.may_speak_h2(), both || !voice.may_speak_h2()));
  }
  configuration.snapshot = std::move(snapshot);
  return configuration;
}

void Site::tell(std::size_t index) {
  const auto list = std::make_shared<const gate::EndpointList>(this->list(groups_[index]));
  world_.note("tell", index, list->endpoints.size());
  for (Place& place : workers_) {
    if (place.inhabitant->worker() == nullptr) continue;
    place.reactor->post([inhabitant = place.inhabitant.get(), list] { inhabitant->change_endpoints(*list); });
  }
  ask_for_receipts();
}

gate::EndpointList Site::list(const Group& group) {
  gate::EndpointList list{.backend = group.model.name, .endpoints = {}};
  for (const Endpoint& endpoint : group.endpoints) {
    if (endpoint.standing == Standing::absent) continue;
    const base::Address& address = endpoint.process->address();
    const Standing standing = endpoint.standing;
    list.endpoints.push_back(
        {.identity = routes::endpoint_identity(group.model.name, endpoint.name, address),
         .name = endpoint.name,
         .label = labels_.intern(endpoint.name),
         .address = address,
         .weight = endpoint.weight,
         .membership = standing == Standing::leaving ? lifecycle::Membership::leaving : lifecycle::Membership::present,
         .wish = standing == Standing::drain   ? lifecycle::Wish::drain
                 : standing == Standing::maint ? lifecycle::Wish::maint
                                               : lifecycle::Wish::ready});
  }
  return list;
}

void Site::set_standing(std::size_t group_index, std::size_t index, Standing standing) {
  const Group& group = groups_[group_index];
  Endpoint& endpoint = groups_[group_index].endpoints[index];
  ledger_.disturb(endpoint.process->name());
  endpoint.standing = standing;
  if (standing == Standing::ready) {
    endpoint.draining_since = Instant::max();
    return endpoint.process->reinstate();
  }
  if (endpoint.draining_since == Instant::max()) begin_drain(group, endpoint);
  // Sticky clients may stay with one that drains; who leaves serves as long as nobody else does.
  const bool may_serve = standing == Standing::leaving || (standing == Standing::drain && group.model.sticky);
  may_serve ? endpoint.process->reinstate() : endpoint.process->retire();
  leaving_.emplace_back(group_index, index);
}

// What it has not ended by its deadline is cut.
void Site::begin_drain(const Group& group, Endpoint& endpoint) {
  const Instant since = endpoint.draining_since = world_.now();
  const Backend* process = endpoint.process.get();
  const std::size_t group_index = static_cast<std::size_t>(&group - groups_.data());
  const std::size_t index = static_cast<std::size_t>(&endpoint - group.endpoints.data());
  for (const Duration around : {-milliseconds{20}, milliseconds{0}, milliseconds{20}, milliseconds{40}}) {
    world_.after(group.model.drain_deadline + around, [this, since, process, group_index, index] {
      if (groups_[group_index].endpoints[index].draining_since != since) return;
      ledger_.excuse_all_at(process->name(), "drain deadline");
      ledger_.excuse_unread(static_cast<std::uint32_t>(group_index), "drain deadline");
    });
  }
}

void Site::ask_for_receipts() {
  for (const auto& [group_index, index] : std::exchange(leaving_, {})) {
    const Group& group = groups_[group_index];
    const Endpoint& endpoint = group.endpoints[index];
    if (!endpoint.process->retired()) continue;  // it may get work again at any moment
    Receipts::Request request{
        .process = endpoint.process.get(),
        .identity = routes::endpoint_identity(group.model.name, endpoint.name, endpoint.process->address())};
    const Instant deadline = endpoint.draining_since + group.model.drain_deadline;
    if (deadline > world_.now()) request.by = deadline;
    request.withdrawn = [process = endpoint.process.get(), since = endpoint.process->retired_at()] {
      return !process->retired() || process->retired_at() != since;
    };
    for (Place& place : workers_) {
      if (place.inhabitant->worker() == nullptr) return;
      request.workers.emplace_back(place.reactor.get(), place.inhabitant.get());
    }
    receipts_.ask(std::move(request));
  }
}

std::size_t Site::listed() const {
  std::size_t count = 0;
  for (const Group& group : groups_)
    count += static_cast<std::size_t>(std::ranges::count_if(
        group.endpoints, [](const Endpoint& endpoint) { return endpoint.standing != Standing::absent; }));
  return count;
}

void Site::move_listener() {
  settings_.listener.set_port(settings_.listener.port() == 8080 ? 8081 : 8080);
  apply();
}

}  // namespace ebb::sim
