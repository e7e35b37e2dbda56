#include "sim/scenario.h"

#include <algorithm>

namespace ebb::sim {

namespace {

constexpr std::uint64_t steps_max = 5'000'000;  // beyond it something turns in a circle
constexpr Duration storm_time = seconds{6};
constexpr Duration settle_time = seconds{400};  // a black-holed client notices after minutes
constexpr Duration calm_time = seconds{120};    // large bodies over pooled connections that are still slow
constexpr std::uint32_t calm_clients = 3;
constexpr Duration leave_time = seconds{60};  // longer than every idle time-out that is drawn

base::Address address(std::uint32_t a, std::uint32_t b, std::uint16_t port) {
  return *base::Address::parse("10." + std::to_string(a) + "." + std::to_string(b) + ".1:" + std::to_string(port));
}

Scenario::Size draw_size(base::Rng& rng) {
  return {.workers = static_cast<std::uint32_t>(rng.between(1, 3)),
          .backends = static_cast<std::uint32_t>(rng.between(1, 3)),
          .endpoints = static_cast<std::uint32_t>(rng.between(1, 4)),
          .clients = static_cast<std::uint32_t>(rng.between(2, 20))};
}

}  // namespace

Scenario::Scenario(std::uint64_t seed, MakeInhabitant make)
    : world_(seed), network_(world_), make_(std::move(make)), ledger_(world_) {
  climate_ = Climate::draw(world_.rng());
  climate_.checks = seed % 5 == 3;  // not drawn: the worlds of known seeds stay as they were
  build(draw_size(world_.rng()));
}

Scenario::Scenario(std::uint64_t seed, const Climate& climate, const Size& size, MakeInhabitant make)
    : world_(seed), network_(world_), climate_(climate), make_(std::move(make)), ledger_(world_) {
  build(size);
}

Scenario::~Scenario() = default;

void Scenario::build(const Size& size) {
  base::Rng& rng = world_.rng();
  network_.set_nasty(climate_.nasty_links);
  timeouts_ = draw_timeouts(rng);
  limits_.user_timeout = seconds{rng.between(5, 30)};
  limits_.keepalive_idle = seconds{rng.between(5, 10)};
  limits_.keepalive_interval = seconds{rng.between(1, 5)};
  if (climate_.malformed && rng.chance(300)) body_bytes_max_ = rng.between(100, 200000);
  listener_ = address(0, 0, 8080);
  for (std::uint32_t i = 0; i < size.backends; ++i) {
    Group group;
    group.model = draw_backend(rng, climate_, i);
    ledger_.set_retries(i, group.model.retries);
    const BackendHabits habits = draw_habits(rng, climate_);
    for (std::uint32_t j = 0; j < size.endpoints; ++j) {
      group.members.push_back(std::make_unique<Backend>(world_, network_, ledger_, address(i + 1, j, 80), i));
      group.members.back()->set_habits(habits);
      group.members.back()->open();
      group.standings.push_back(Standing::ready);
    }
    groups_.push_back(std::move(group));
  }
  for (std::uint32_t i = 0; i < size.workers; ++i) {
    Member member;
    member.reactor = std::make_unique<SimReactor>(world_, network_, address(0, 1, 0), Kernel::draw(rng), limits_, i);
    member.inhabitant = make_(*member.reactor, labels_);
    member.checker = std::make_unique<WorkerChecker>(world_, *member.reactor, *member.inhabitant);
    member.reactor->run(member.inhabitant->handler());
    members_.push_back(std::move(member));
  }
  apply_configuration();
  for (std::uint32_t i = 0; i < size.clients; ++i)
    add_client(climate_, static_cast<std::uint32_t>(rng.between(1, 6)), milliseconds{10} + world_.draw({}, seconds{2}));
}

void Scenario::add_client(const Climate& climate, std::uint32_t exchanges, Duration start) {
  ClientScript script = draw_script(world_.rng(), climate, timeouts_);
  if (!storming_) script.pause = script.write_gap = script.read_gap = {};
  script.from = address(200, static_cast<std::uint32_t>(clients_.size()), 1000);
  for (std::uint32_t i = 0; i < exchanges; ++i) {
    Exchange exchange = draw_exchange(world_.rng(), climate, static_cast<std::uint32_t>(groups_.size()));
    if (script.minor == 0 && exchange.upgrade) exchange.upgrade = false, exchange.request_bytes = 0;
    if (script.minor == 0) exchange.due = exchange.due == Due::late_refusal ? Due::service : exchange.due;  // no chunks
    const bool too_large = body_bytes_max_ != 0 && exchange.request_bytes > body_bytes_max_ && !exchange.upgrade;
    if (too_large && exchange.due == Due::service) exchange.due = Due::late_refusal, exchange.plan.early = false;
    if (climate.idle_closes && groups_[exchange.backend].model.retries == 0) exchange.excuse = "keep-alive race";
    script.exchanges.push_back(ledger_.add(std::move(exchange)).id);
  }
  Client::Surroundings surroundings{
      world_, network_, ledger_, [this] { return listener_; },
      [this] { return world_.now() - listener_changed_ < seconds{1} && listener_changed_ != Instant{}; }};
  clients_.push_back(std::make_unique<Client>(std::move(surroundings), std::move(script)));
  world_.after(start, [client = clients_.back().get()] { client->start(); });
}

// ---- configuration ---------------------------------------------------------------------------------------------

routes::Model Scenario::model() const {
  routes::Model model;
  model.timeouts = timeouts_;
  model.limits.body_bytes = body_bytes_max_;
  model.listeners.push_back({.name = "web", .bind = listener_});
  for (const Group& group : groups_) {
    routes::BackendModel backend = group.model;
    if (!storming_) backend.health.reset();  // so that the world comes to rest
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const Standing standing = group.standings[i];
      if (standing == Standing::absent) continue;
      backend.endpoints.push_back({.name = "e" + std::to_string(i),
                                   .address = group.members[i]->address(),
                                   .state = standing == Standing::drain   ? routes::EndpointState::drain
                                            : standing == Standing::maint ? routes::EndpointState::maint
                                                                          : routes::EndpointState::ready});
    }
    // The order in the file means nothing; a new generation may well have another.
    std::ranges::rotate(backend.endpoints, backend.endpoints.begin() +
                                               static_cast<std::ptrdiff_t>(
                                                   generation_ % std::max<std::size_t>(backend.endpoints.size(), 1)));
    model.routes.push_back({.host = backend.name + ".test", .backend = backend.name});
    model.backends.push_back(std::move(backend));
  }
  return model;
}

void Scenario::apply_configuration() {
  std::shared_ptr<const routes::Snapshot> snapshot;
  const auto refusals = routes::Snapshot::compile(model(), ++generation_, labels_, snapshot);
  if (!refusals.empty()) return world_.fail("the scenario's model was refused: " + refusals.front().reason);
  world_.note("apply", generation_);
  for (Member& member : members_)
    member.reactor->post([inhabitant = member.inhabitant.get(), snapshot] { inhabitant->apply(snapshot); });
}

void Scenario::change_endpoints() {
  base::Rng& rng = world_.rng();
  Group& group = groups_[rng.below(groups_.size())];
  const std::size_t which = rng.below(group.members.size());
  const auto ready = std::ranges::count(group.standings, Standing::ready);
  Standing& standing = group.standings[which];
  // The last one may only go where 503 is an answer that is expected.
  if (standing == Standing::ready && ready == 1 && !climate_.excuses_all()) return;
  if (standing == Standing::ready) {
    constexpr Standing away[] = {Standing::drain, Standing::maint, Standing::absent};
    standing = away[rng.below(std::size(away))];
    group.members[which]->retire();
  } else {
    standing = Standing::ready;
    group.members[which]->reinstate();
  }
  apply_configuration();
}

void Scenario::change_listener() {
  listener_.set_port(listener_.port() == 8080 ? 8081 : 8080);
  listener_changed_ = world_.now();
  apply_configuration();
}

// ---- faults ----------------------------------------------------------------------------------------------------

void Scenario::schedule_faults() {
  const auto repeat = [this](bool wanted, Duration every, void (Scenario::*fault)()) {
    if (!wanted) return;
    for (Instant at = world_.now(); at < storm_end_; at += world_.draw(every / 10, every * 2))
      world_.at(at, [this, fault] {
        if (storming_) (this->*fault)();
      });
  };
  repeat(climate_.path_faults, milliseconds{100}, &Scenario::strike_path);
  repeat(climate_.host_faults, milliseconds{500}, &Scenario::strike_host);
  repeat(climate_.descriptors_scarce, milliseconds{500}, &Scenario::starve);
  repeat(climate_.endpoint_changes, milliseconds{200}, &Scenario::change_endpoints);
  repeat(climate_.listener_changes, milliseconds{400}, &Scenario::change_listener);
}

void Scenario::strike_path() {
  base::Rng& rng = world_.rng();
  const std::vector<EndId> ends = members_[rng.below(members_.size())].reactor->ends();
  if (ends.empty()) return;
  const EndId end = ends[rng.below(ends.size())];
  if (rng.chance(500)) {
    network_.sever(end);
  } else {
    network_.black_hole(end);
  }
}

void Scenario::strike_host() {
  base::Rng& rng = world_.rng();
  Group& group = groups_[rng.below(groups_.size())];
  Backend* backend = group.members[rng.below(group.members.size())].get();
  const Duration time = world_.draw(milliseconds{10}, seconds{2});
  if (rng.chance(500)) {
    backend->refuse();
    world_.after(time, [backend] { backend->open(); });
  } else {
    network_.set_host_dark(backend->address(), true);
    world_.after(time, [this, backend] { network_.set_host_dark(backend->address(), false); });
  }
}

void Scenario::starve() {
  SimReactor* reactor = members_[world_.rng().below(members_.size())].reactor.get();
  reactor->set_fd_limit(static_cast<std::uint32_t>(world_.rng().between(1, 10)));
  world_.after(world_.draw(milliseconds{10}, seconds{1}), [reactor] { reactor->set_fd_limit(UINT32_MAX); });
}

// ---- the run ---------------------------------------------------------------------------------------------------

template <class Condition>
void Scenario::run_until(Condition&& done, Duration at_most) {
  const Instant deadline = world_.now() + at_most;
  world_.at(deadline, [] {});  // so that time gets there even if nothing else happens
  while (!world_.failed() && world_.now() < deadline && !done()) {
    world_.step();
    for (Member& member : members_) member.checker->after_step();
    if (world_.steps() > steps_max) world_.fail("no end in sight: the world turns in a circle");
  }
}

bool Scenario::clients_done() const {
  return std::ranges::all_of(clients_, [](const auto& client) { return client->done(); });
}

bool Scenario::run() {
  for (void (Scenario::*part)() : {&Scenario::storm, &Scenario::settle, &Scenario::calm, &Scenario::leave}) {
    if (!world_.failed()) (this->*part)();
  }
  return !world_.failed();
}

void Scenario::storm() {
  storm_end_ = world_.now() + storm_time;
  if (climate_.excuses_all()) ledger_.excuse_all("the path or a host is ill");
  schedule_faults();
  run_until([this] { return clients_done(); }, storm_time);
  storming_ = false;
}

void Scenario::settle() {
  world_.note("settle");
  for (auto& client : clients_) client->stop_misbehaving();
  for (Member& member : members_) member.reactor->set_fd_limit(UINT32_MAX);
  for (Group& group : groups_) {
    group.standings.front() = Standing::ready;
    group.members.front()->reinstate();
    for (auto& backend : group.members) {
      backend->set_habits({});
      backend->open();
      network_.set_host_dark(backend->address(), false);
    }
  }
  network_.set_nasty(false);
  apply_configuration();
  run_until([this] { return clients_done(); }, settle_time);
  if (!clients_done()) world_.fail("not live: " + std::to_string(ledger_.pending()) + " exchanges never ended");
  // Pools may hold connections that fell silent: the kernel finds them out in this time.
  const Duration dead_peer_time = limits_.user_timeout + limits_.keepalive_idle + limits_.keepalive_interval;
  run_until([] { return false; }, climate_.excuses_all() ? dead_peer_time : seconds{1});
}

void Scenario::calm() {
  world_.note("calm");
  ledger_.excuse_all(nullptr);
  for (std::uint32_t i = 0; i < calm_clients; ++i)
    add_client({.relay_only = climate_.relay_only}, static_cast<std::uint32_t>(groups_.size()) * 2,
               world_.draw({}, milliseconds{100}));
  run_until([this] { return clients_done(); }, calm_time);
  if (!clients_done()) world_.fail("not live: calm clients wait for " + std::to_string(ledger_.pending()) + " answers");
}

void Scenario::leave() {
  world_.note("leave");
  const auto all_closed = [this] {
    return std::ranges::all_of(members_, [](const Member& member) { return member.reactor->sockets() == 0; });
  };
  run_until(all_closed, leave_time);
  run_until([] { return false; }, milliseconds{10});  // for the round that buries the last
  if (world_.failed()) return;
  for (Member& member : members_) member.checker->check_empty();
  for (Member& member : members_) member.reactor->post([inhabitant = member.inhabitant.get()] { inhabitant->drain(); });
  run_until([] { return false; }, seconds{1});
  for (Member& member : members_) {
    if (member.reactor->listeners() != 0) world_.fail("a drained worker still listens");
  }
}

std::uint64_t Scenario::spliced_bytes() const {
  std::uint64_t bytes = 0;
  for (const Member& member : members_) bytes += member.reactor->counters().spliced_bytes;
  return bytes;
}

std::string Scenario::summary() const {
  std::string text = std::to_string(members_.size()) + " workers, " + std::to_string(groups_.size()) + " backends of " +
                     std::to_string(groups_.front().members.size()) + ", " + std::to_string(clients_.size()) +
                     " clients; weather:";
  const std::pair<bool, const char*> kinds[] = {{climate_.nasty_links, "nasty links"},
                                                {climate_.strikes, "strikes"},
                                                {climate_.idle_closes, "idle closes"},
                                                {climate_.rude_clients, "rude clients"},
                                                {climate_.malformed, "malformed"},
                                                {climate_.path_faults, "path faults"},
                                                {climate_.host_faults, "host faults"},
                                                {climate_.descriptors_scarce, "descriptors scarce"},
                                                {climate_.endpoint_changes, "endpoint changes"},
                                                {climate_.listener_changes, "listener changes"},
                                                {climate_.checks, "checks"}};
  for (const auto& [present, kind] : kinds)
    if (present) text.append(" ").append(kind).append(",");
  for (const Outcome outcome : {Outcome::answered, Outcome::refused, Outcome::broken, Outcome::abandoned})
    text.append(" ").append(name(outcome)).append(" ").append(std::to_string(ledger_.count(outcome)));
  return text;
}

}  // namespace ebb::sim
