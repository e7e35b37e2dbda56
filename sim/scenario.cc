#include "sim/scenario.h"

#include <algorithm>

namespace ebb::sim {

namespace {

constexpr std::uint64_t steps_max = 20'000'000;  // beyond it something turns in a circle
constexpr Duration storm_time = seconds{6};
constexpr std::uint32_t scenes_of_thousand = 300;  // runs that are one
constexpr Duration settle_time = seconds{400};     // a black-holed client notices after minutes
constexpr Duration calm_time = seconds{120};       // large bodies over pooled connections that are still slow
constexpr std::uint32_t calm_clients = 3;
constexpr Duration leave_time = seconds{60};  // longer than every idle time-out that is drawn

base::Address client_address(std::size_t number) {
  const std::string text = "10." + std::to_string(200 + number / 250) + "." + std::to_string(number % 250) + ".1:1000";
  return *base::Address::parse(text);
}

// They have no cookies, no fields and no TLS, and a flow beyond the limits of its endpoints goes nowhere.
void suit_datagrams(routes::BackendModel& model, Voice& voice) {
  model.endpoint_limits = {};
  model.sticky.reset();
  model.hash_header.clear();
  if (model.balance == routes::Balance::header_hash) model.balance = routes::Balance::source_hash;
  voice.tls = nullptr;
  if (voice.may_speak_h2()) voice.protocol = routes::BackendProtocol::h2c;
}

Scenario::Size draw_size(base::Rng& rng) {
  return {.workers = static_cast<std::uint32_t>(rng.between(1, 3)),
          .backends = static_cast<std::uint32_t>(rng.between(1, 3)),
          .endpoints = static_cast<std::uint32_t>(rng.between(1, 4)),
          .clients = static_cast<std::uint32_t>(rng.between(2, 20))};
}

}  // namespace

Scenario::Scenario(std::uint64_t seed, MakeInhabitant make)
    : world_(seed),
      network_(world_),
      storm_time_(storm_time),
      make_(std::move(make)),
      ledger_(world_),
      site_(world_, network_, ledger_) {
  if (world_.rng().chance(scenes_of_thousand)) {
    draw_scenery(draw_scene(world_.rng()));
    storm_time_ = scene_->time;
  } else {
    climate_ = Climate::draw(world_.rng());
    climate_.checks = seed % 5 == 3;
    climate_.mirrors = seed % 7 == 1;
    climate_.tongues = Tongues::draw(world_.rng());
    build(draw_size(world_.rng()));
  }
}

Scenario::Scenario(std::uint64_t seed, const Climate& climate, const Size& size, MakeInhabitant make)
    : world_(seed),
      network_(world_),
      climate_(climate),
      storm_time_(storm_time),
      make_(std::move(make)),
      ledger_(world_),
      site_(world_, network_, ledger_) {
  build(size);
}

Scenario::Scenario(std::uint64_t seed, const Scene& scene, Duration time, MakeInhabitant make)
    : world_(seed),
      network_(world_),
      storm_time_(time),
      make_(std::move(make)),
      ledger_(world_),
      site_(world_, network_, ledger_) {
  draw_scenery(scene);
}

Scenario::~Scenario() = default;

// A steady load, so that the router has evidence to judge by.
void Scenario::draw_scenery(const Scene& scene) {
  base::Rng& rng = world_.rng();
  scene_ = &scene;
  climate_ = {.nasty_links = rng.chance(200), .rude_clients = rng.chance(200), .steady_load = true};
  if (scene.pace != nullptr) {
    climate_.pace = scene.pace;
    climate_.sparse = rng.chance(400);
    climate_.alike = rng.chance(500);
    climate_.checks = rng.chance(300);
  }
  climate_.tongues = Tongues::draw(rng);
  build({.workers = static_cast<std::uint32_t>(rng.between(1, 2)),
         .backends = 1,
         .endpoints = static_cast<std::uint32_t>(rng.between(scene.endpoints_min, scene.endpoints_max)),
         .clients = static_cast<std::uint32_t>(rng.between(8, 16))});
}

void Scenario::build(const Size& size) {
  base::Rng& rng = world_.rng();
  network_.set_nasty(climate_.nasty_links);
  for (std::uint32_t i = 0; i < size.backends; ++i) {
    routes::BackendModel model = draw_backend(rng, climate_, i);
    const BackendHabits habits = draw_habits(rng, climate_);
    Voice voice = draw_voice(rng, climate_, site_);
    if (i == 0 && climate_.tongues.datagrams) suit_datagrams(model, voice);
    site_.add_group(std::move(model), habits, size.endpoints, voice);
  }
  if (climate_.mirrors) draw_mirrors();
  site_.start(draw_settings(), size.workers, make_);
  for (std::uint32_t i = 0; i < size.clients; ++i) {
    add_household(climate_, static_cast<std::uint32_t>(exchanges_of_a_client()),
                  milliseconds{10} + world_.draw({}, climate_.steady_load ? seconds{1} : seconds{2}));
  }
}

// A backend of its own is judged strictly: whatever it does to the copies must not show. A copy to the backend of the
// request itself may meet the request's own connection.
void Scenario::draw_mirrors() {
  base::Rng& rng = world_.rng();
  const auto services = static_cast<std::uint32_t>(site_.groups().size());
  if (rng.chance(500)) {
    const std::uint64_t which = rng.below(services);
    if (which > 0 || !climate_.tongues.datagrams) site_.mirror_to_itself(which);
    return;
  }
  routes::BackendModel model = draw_backend(rng, climate_, services);
  model.name = "mirror";
  const BackendHabits habits = draw_habits(rng, climate_);
  const Voice voice = draw_voice(rng, climate_, site_);
  site_.add_mirror(std::move(model), habits, static_cast<std::uint32_t>(rng.between(1, 2)), voice);
}

std::uint64_t Scenario::exchanges_of_a_client() {
  if (climate_.sparse) return world_.rng().between(5, 15);
  return climate_.steady_load ? world_.rng().between(20, 40) : world_.rng().between(1, 6);
}

Site::Settings Scenario::draw_settings() {
  base::Rng& rng = world_.rng();
  Site::Settings settings;
  settings.timeouts = draw_timeouts(rng);
  if (scene_ != nullptr && scene_->pace != nullptr)
    settings.timeouts.backend_body = settings.timeouts.tunnel_idle = seconds{100};
  // Many answers share a connection, and each waits for its turns: on the slowest links for seconds.
  if (climate_.nasty_links && climate_.tongues.h2)
    settings.timeouts.backend_body = std::max<Duration>(settings.timeouts.backend_body, seconds{10});
  settings.sockets.user_timeout = seconds{rng.between(5, 30)};
  settings.sockets.keepalive_idle = seconds{rng.between(5, 10)};
  settings.sockets.keepalive_interval = seconds{rng.between(1, 5)};
  if (climate_.malformed && rng.chance(300)) settings.limits.body_bytes = rng.between(100, 200000);
  if (scene_ != nullptr) settings.limits.idle_per_client = static_cast<std::uint32_t>(rng.between(2, 8));
  settings.listener = *base::Address::parse("10.0.0.1:8080");
  settings.streams = climate_.tongues.h2;
  if (climate_.tongues.datagrams) settings.datagrams = *base::Address::parse("10.0.0.1:5353");
  if (climate_.tongues.tls) settings.secure_listener = *base::Address::parse("10.0.0.1:8443");
  return settings;
}

// ---- clients ---------------------------------------------------------------------------------------------------

ClientScript Scenario::draw_client(const Climate& climate, std::uint32_t exchanges, bool streams) {
  ClientScript script = draw_script(world_.rng(), climate, site_.settings().timeouts);
  if (streams) script.minor = 1, script.depth = 1;
  if (!storming_) script.pause = script.write_gap = script.read_gap = {};
  for (std::uint32_t i = 0; i < exchanges; ++i) script.exchanges.push_back(draw_request(climate, script));
  return script;
}

std::uint64_t Scenario::draw_request(const Climate& climate, const ClientScript& script) {
  Exchange exchange = draw_exchange(world_.rng(), climate, site_.services());
  if (script.minor == 0 && exchange.upgrade) exchange.upgrade = false, exchange.request_bytes = 0;
  if (script.minor == 0) exchange.due = exchange.due == Due::late_refusal ? Due::service : exchange.due;  // no chunks
  const std::uint64_t most = site_.settings().limits.body_bytes;
  const bool too_large = most != 0 && exchange.request_bytes > most && !exchange.upgrade;
  if (too_large && exchange.due == Due::service) exchange.due = Due::late_refusal, exchange.plan.early = false;
  if (climate_.tongues.h2) exchange.protocol = "websocket";
  Exchange& entered = ledger_.add(std::move(exchange));
  const Group& group = site_.groups()[entered.backend];
  if (storming_) ledger_.excuse(entered.id, excuse_of_race(entered, group));
  const bool stalls = (climate_.strikes || climate_.pace != nullptr) &&
                      (group.model.endpoint_limits.requests > 0 || group.model.endpoint_limits.connections > 0);
  if (stalls || group.model.queue.limit < 10) ledger_.excuse(entered.id, "the queue is short");
  return entered.id;
}

Client& Scenario::add_client(ClientScript script, Duration start, Dial dial) {
  Client::Surroundings surroundings{
      world_,
      network_,
      ledger_,
      [this] { return site_.settings().listener; },
      [this] { return world_.now() - listener_changed_ < seconds{1} && listener_changed_ != Instant{}; },
      !climate_.relay_only,
      std::move(dial)};
  clients_.push_back(std::make_unique<Client>(std::move(surroundings), std::move(script)));
  Client& client = *clients_.back();
  world_.after(start, [&client] { client.start(); });
  return client;
}

std::unique_ptr<Line> Scenario::dial(const Voice& voice, const base::Address& from) {
  auto wire = std::make_unique<Wire>(network_);
  const bool secure = voice.tls != nullptr;
  wire->connect(from, secure ? site_.settings().secure_listener : site_.settings().listener);
  if (!secure) return wire;
  Voice now = voice;
  now.rude = voice.rude && storming_;
  const TlsManners manners = draw_tls_manners(world_.rng(), now, TlsSite::Peer::client);
  const TlsSite::PeerWish wish{.tls12 = manners.tls12,
                               .alpn = voice.may_speak_h2() ? "\x02h2\x08http/1.1" : "\x08http/1.1",
                               .fresh = world_.rng().chance(200)};
  return std::make_unique<TlsLine>(world_, *voice.tls, TlsSite::Peer::client, std::move(wire), wish, manners);
}

std::unique_ptr<Line> Scenario::dial_stream(const Voice& voice, const base::Address& from,
                                            std::weak_ptr<Trunk>& trunk) {
  std::shared_ptr<Trunk> open = trunk.lock();
  if (open == nullptr || !open->takes_streams()) {
    Voice now = voice;
    now.rude = voice.rude && storming_;
    now.hello_delay_max = {};
    const H2Manners manners = draw_h2_manners(world_.rng(), now);
    open = std::make_shared<Trunk>(world_, Trunk::Role::client, dial(voice, from), manners, Trunk::Told{});
    open->begin();
    std::erase_if(trunks_, [](const auto& one) { return one->over(); });
    trunks_.push_back(open);
    trunk = open;
  }
  return open->open();
}

// One client, or several that share a connection of HTTP/2.
void Scenario::add_household(const Climate& climate, std::uint32_t exchanges, Duration start) {
  Voice voice = draw_voice(world_.rng(), climate_, site_);
  if (!storming_) voice.rude = false;
  const std::uint64_t heads = voice.may_speak_h2() ? world_.rng().between(1, 4) : 1;
  const auto trunk = std::make_shared<std::weak_ptr<Trunk>>();
  const base::Address from = client_address(clients_.size());
  for (std::uint64_t i = 0; i < heads; ++i) {
    ClientScript script = draw_client(climate, exchanges, voice.may_speak_h2());
    script.from = from;
    Dial dial;
    if (voice.may_speak_h2()) {
      dial = [this, voice, from, trunk] { return dial_stream(voice, from, *trunk); };
    } else if (voice.tls != nullptr) {
      dial = [this, voice, from] { return this->dial(voice, from); };
    }
    add_client(std::move(script), start, std::move(dial));
  }
}

// From the same address each time.
void Scenario::add_leaky_client() {
  ClientScript script{.from = *base::Address::parse("10.250.0.1:1000")};
  script.never_leaves = true;
  script.exchanges.push_back(ledger_.add({.backend = 0, .plan = {.bytes = 100}}).id);
  leaky_clients_.push_back(&add_client(std::move(script), {}));
}

std::size_t Scenario::leaked() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(leaky_clients_, [](const Client* client) { return client->waits_for_nothing(); }));
}

void Scenario::change_listener() {
  listener_changed_ = world_.now();
  site_.move_listener();
}

DatagramClient& Scenario::add_datagram_client() {
  const std::size_t number = datagram_clients_.size();
  const base::Address from = *base::Address::parse("10.240." + std::to_string(number) + ".1:4000");
  datagram_clients_.push_back(std::make_unique<DatagramClient>(
      world_, site_.datagram_network(), site_.datagram_ledger(), number, from, site_.settings().datagrams));
  return *datagram_clients_.back();
}

void Scenario::begin_datagrams() {
  if (!climate_.tongues.datagrams) return;
  base::Rng& rng = world_.rng();
  if (rng.chance(500)) site_.datagram_network().set_loss(static_cast<std::uint32_t>(rng.below(200)));
  const std::uint64_t count = rng.between(1, 6);
  for (std::uint64_t i = 0; i < count; ++i) {
    DatagramClient& client = add_datagram_client();
    world_.after(world_.draw(milliseconds{10}, seconds{2}),
                 [&client, gap = world_.draw(milliseconds{1}, milliseconds{400})] { client.send(20, gap); });
  }
  if (scene_ == nullptr && rng.chance(500)) disturb_datagrams();
}

// An endpoint is gone for a while: who sends to it hears so.
void Scenario::disturb_datagrams() {
  std::vector<Endpoint>& endpoints = site_.groups().front().endpoints;
  DatagramEndpoint* endpoint = endpoints[world_.rng().below(endpoints.size())].datagrams.get();
  world_.after(world_.draw(milliseconds{200}, seconds{3}), [this, endpoint] {
    if (storming_) endpoint->close();
  });
  world_.after(world_.draw(seconds{3}, seconds{5}), [endpoint] { endpoint->open(); });
}

// Nothing is lost any more, and nobody leaves: each is answered, and a client has one endpoint.
void Scenario::check_datagrams() {
  const DatagramLedger& ledger = site_.datagram_ledger();
  for (std::size_t i = calm_datagrams_from_; i < datagram_clients_.size(); ++i) {
    if (ledger.unanswered(i) > 0)
      world_.fail("datagrams: " + std::to_string(ledger.unanswered(i)) + " were not answered in the calm");
    if (ledger.endpoints_of(i) > 1) world_.fail("datagrams: a flow was spread over several endpoints");
  }
}

// ---- the run ---------------------------------------------------------------------------------------------------

template <class Condition>
void Scenario::run_until(Condition&& done, Duration at_most) {
  const Instant deadline = world_.now() + at_most;
  world_.at(deadline, [] {});  // so that time gets there even if nothing else happens
  while (!world_.failed() && world_.now() < deadline && !done()) {
    world_.step();
    for (Site::Place& place : site_.workers()) place.checker->after_step();
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
  if (climate_.excuses_all()) ledger_.excuse_all("the path or a host is ill");
  begin_datagrams();
  if (scene_ != nullptr) {
    stage_.emplace(Stage{world_, site_, ledger_, world_.now() + storm_time_, [this] { add_leaky_client(); },
                         [this] { return leaked(); }});
    scene_->play(*stage_);
    run_until([] { return false; }, storm_time_);
  } else {
    storm_.emplace(world_, network_, site_, climate_, [this] { change_listener(); });
    storm_->begin(storm_time_);
    run_until([this] { return clients_done(); }, storm_time_);
    storm_->end();
  }
  storming_ = false;
}

void Scenario::settle() {
  world_.note("settle");
  for (auto& client : clients_) client->stop_misbehaving();
  for (auto& trunk : trunks_) trunk->calm_down();
  for (Site::Place& place : site_.workers()) place.reactor->set_fd_limit(UINT32_MAX);
  for (std::size_t i = 0; i < site_.groups().size(); ++i) {
    Group& group = site_.groups()[i];
    group.model.health.reset();  // so that the world comes to rest
    site_.set_standing(i, 0, Standing::ready);
    for (Endpoint& endpoint : group.endpoints) {
      endpoint.process->set_habits({});
      endpoint.process->calm_down();
      if (endpoint.datagrams != nullptr) endpoint.datagrams->open();
      endpoint.process->recover();
      if (endpoint.standing != Standing::absent) endpoint.process->start();
      endpoint.process->find_way();
    }
    ledger_.end_trouble(static_cast<std::uint32_t>(i));
  }
  if (site_.services() < site_.groups().size()) ledger_.mirrors(site_.services()).end_strikes();
  network_.set_nasty(false);
  site_.datagram_network().set_loss(0);
  site_.apply();
  run_until([this] { return clients_done(); }, settle_time);
  if (!clients_done()) world_.fail("not live: " + std::to_string(ledger_.pending()) + " exchanges never ended");
  // Pools may hold connections that fell silent: the kernel finds them out in this time.
  const reactor::SocketLimits& limits = site_.settings().sockets;
  const Duration dead_peer_time = limits.user_timeout + limits.keepalive_idle + limits.keepalive_interval;
  const bool silent = climate_.excuses_all() || scene_ != nullptr;
  run_until([] { return false; }, silent ? dead_peer_time : seconds{1});
}

void Scenario::calm() {
  world_.note("calm");
  ledger_.excuse_all(nullptr);
  for (std::uint32_t i = 0; i < calm_clients; ++i)
    add_household({.relay_only = climate_.relay_only}, site_.services() * 2, world_.draw({}, milliseconds{100}));
  calm_datagrams_from_ = datagram_clients_.size();
  if (climate_.tongues.datagrams) {
    for (int i = 0; i < 3; ++i) add_datagram_client().send(5, milliseconds{10});
    run_until([] { return false; }, seconds{1});
    check_datagrams();
  }
  run_until([this] { return clients_done(); }, calm_time);
  if (!clients_done()) world_.fail("not live: calm clients wait for " + std::to_string(ledger_.pending()) + " answers");
}

void Scenario::leave() {
  world_.note("leave");
  const auto quiet = [this] {
    return std::ranges::all_of(site_.workers(), [](const Site::Place& place) {
      return place.reactor->sockets() == 0 && !place.reactor->timer_armed();
    });
  };
  run_until(quiet, leave_time);
  run_until([] { return false; }, milliseconds{10});  // for the round that buries the last
  if (world_.failed()) return;
  for (Site::Place& place : site_.workers()) place.checker->check_empty(site_.listed());
  check_agreement();
  for (Site::Place& place : site_.workers())
    place.reactor->post([inhabitant = place.inhabitant.get()] { inhabitant->drain(); });
  run_until([] { return false; }, seconds{1});
  for (Site::Place& place : site_.workers()) {
    if (place.reactor->listeners() != 0) world_.fail("a drained worker still listens");
  }
}

// Whatever was said of an endpoint while it came, went and fell: in the end all workers have heard the same.
void Scenario::check_agreement() {
  std::map<std::uint64_t, lifecycle::Health> heard;
  for (const Site::Place& place : site_.workers()) {
    if (place.inhabitant->worker() == nullptr) return;
    for (const gate::EndpointFacts& facts : place.inhabitant->endpoint_facts()) {
      const auto [known, first] = heard.try_emplace(facts.identity, facts.health);
      if (!first && known->second != facts.health) world_.fail("workers disagree about the health of " + facts.name);
      if (facts.health == lifecycle::Health::down) world_.fail("nobody asks any more, and down is " + facts.name);
    }
  }
}

std::uint64_t Scenario::spliced_bytes() const {
  std::uint64_t bytes = 0;
  for (const Site::Place& place : site_.workers()) bytes += place.reactor->counters().spliced_bytes;
  return bytes;
}

std::string Scenario::summary() const {
  std::string text = std::to_string(site_.workers().size()) + " workers, " + std::to_string(site_.groups().size()) +
                     " backends of " + std::to_string(site_.groups().front().endpoints.size()) + ", " +
                     std::to_string(clients_.size()) + " clients; " +
                     (scene_ == nullptr ? std::string("weather:") : std::string("scene: ") + scene_->name + ",");
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
                                                {climate_.checks, "checks"},
                                                {climate_.pace != nullptr, "slow requests"},
                                                {climate_.sparse, "sparse"},
                                                {climate_.alike, "alike"},
                                                {climate_.mirrors, "mirrors"},
                                                {climate_.tongues.tls, "TLS"},
                                                {climate_.tongues.h2, "HTTP/2"},
                                                {climate_.tongues.datagrams, "datagrams"}};
  for (const auto& [present, kind] : kinds)
    if (present) text.append(" ").append(kind).append(",");
  for (const Outcome outcome : {Outcome::answered, Outcome::refused, Outcome::broken, Outcome::abandoned})
    text.append(" ").append(name(outcome)).append(" ").append(std::to_string(ledger_.count(outcome)));
  return text;
}

}  // namespace ebb::sim
