#include "sim/population.h"

namespace ebb::sim {

namespace {

std::uint64_t draw_size(base::Rng& rng, const Climate& climate) {
  const std::uint64_t kind = rng.below(100);
  if (climate.steady_load) return rng.below(kind < 3 ? 2000 : 1000);
  if (kind < 60) return rng.below(2000);
  if (kind < 92) return rng.between(2000, 40000);
  if (kind < 98) return rng.between(65536, 200000);  // large enough to be spliced
  return rng.between(300000, 600000);                // more than the router holds for a slow reader
}

Strike draw_strike(base::Rng& rng, const Climate& climate, BodyKind body) {
  constexpr Strike any[] = {Strike::close_before_head, Strike::reset_before_head, Strike::stall_before_head,
                            Strike::garbage_head,      Strike::cut_in_head,       Strike::cut_in_body,
                            Strike::reset_in_body,     Strike::stall_in_body};
  const Strike strike = any[rng.below(std::size(any))];
  if (climate.relay_only) return Strike::reset_in_body;
  // A body that ends with the connection cannot be seen to be cut, only to be reset.
  if (body == BodyKind::until_close && strike == Strike::cut_in_body) return Strike::reset_in_body;
  return strike;
}

ResponsePlan draw_plan(base::Rng& rng, const Climate& climate, bool has_request_body) {
  ResponsePlan plan;
  constexpr BodyKind kinds[] = {BodyKind::length, BodyKind::length, BodyKind::chunked, BodyKind::until_close};
  // Where processes die, the end of their connections must not look like the end of a body.
  const bool processes_die = climate.steady_load || climate.host_faults;
  plan.body = kinds[rng.below(processes_die ? 3 : std::size(kinds))];
  plan.bytes = draw_size(rng, climate);
  plan.chunk = rng.between(1, 5000);
  if (plan.bytes > 2000 && plan.chunk < 50) plan.chunk = 50;
  if (rng.chance(80)) plan.status = rng.chance(500) ? 204 : 304;
  plan.hints_first = rng.chance(60);
  plan.continue_first = has_request_body && rng.chance(150);
  plan.early = has_request_body && !plan.continue_first && rng.chance(100);
  plan.close_after = rng.chance(100);
  plan.think = rng.chance(500) ? Duration{} : Duration{microseconds{rng.below(30000)}};
  if (climate.steady_load && rng.chance(10)) plan.think = milliseconds{rng.between(500, 3000)};
  if (climate.strikes && rng.chance(250)) plan.strike = draw_strike(rng, climate, plan.body);
  plan.strikes = rng.chance(800) ? 1 : 2;
  return plan;
}

// Those of storms have to be done within the shortest time-outs that are drawn.
constexpr Pace in_storms{.slow_gets = 150, .slow_posts = 150, .least = seconds{1}, .most = seconds{8}};

void draw_pace(base::Rng& rng, const Climate& climate, Exchange& exchange) {
  const Pace& pace = *climate.pace;
  const auto between = [&rng](Duration least, Duration most) {
    return Duration{least + microseconds{rng.below(static_cast<std::uint64_t>((most - least) / microseconds{1}) + 1)}};
  };
  if (exchange.method == "GET" && !exchange.upgrade && rng.chance(pace.tunnels)) {
    exchange.upgrade = true;
    exchange.request_bytes = rng.between(1, 2000);
  }
  const bool slow = rng.chance(exchange.method == "POST" ? pace.slow_posts : pace.slow_gets);
  exchange.plan.think = slow ? between(pace.least, pace.most) : between({}, pace.usual);
  if (rng.chance(pace.quiet)) exchange.plan.pause = between(pace.least, pace.most);
  if (slow && !climate.alike) exchange.segment = "slow";
}

}  // namespace

Climate Climate::draw(base::Rng& rng) {
  Climate climate;
  if (rng.chance(100)) return climate;  // some runs are all sunshine, and strict
  climate.nasty_links = rng.chance(700);
  climate.strikes = rng.chance(500);
  climate.idle_closes = rng.chance(400);
  climate.rude_clients = rng.chance(500);
  climate.malformed = rng.chance(400);
  climate.path_faults = rng.chance(200);
  climate.host_faults = rng.chance(150);
  climate.descriptors_scarce = rng.chance(100);
  climate.endpoint_changes = rng.chance(400);
  climate.listener_changes = rng.chance(200);
  if (rng.chance(150)) climate.pace = &in_storms, climate.alike = rng.chance(500);
  return climate;
}

routes::Timeouts draw_timeouts(base::Rng& rng) {
  const auto between = [&rng](std::uint64_t low, std::uint64_t high) { return milliseconds{rng.between(low, high)}; };
  routes::Timeouts timeouts;
  timeouts.client_head = between(500, 10000);
  timeouts.client_idle = between(500, 20000);
  timeouts.client_body = between(1000, 20000);
  timeouts.client_write = between(1000, 20000);
  timeouts.backend_body = between(1000, 20000);
  timeouts.tunnel_idle = between(5000, 60000);
  return timeouts;
}

namespace {

void draw_balance(base::Rng& rng, routes::BackendModel& backend) {
  constexpr routes::Balance all[] = {routes::Balance::round_robin, routes::Balance::least_request,
                                     routes::Balance::random, routes::Balance::source_hash,
                                     routes::Balance::header_hash};
  backend.balance = all[rng.below(std::size(all))];
  if (backend.balance == routes::Balance::header_hash) backend.hash_header = "X-Tenant";
  if (rng.chance(250)) {
    backend.sticky.emplace().cookie = "EBB";
    backend.sticky->drain = rng.chance(500) ? routes::StickyDrain::move : routes::StickyDrain::keep;
  }
  if (rng.chance(200)) backend.slow_start = milliseconds{rng.between(500, 5000)};
}

// With room for all, so that nobody is turned away, or with little, so that some are.
void draw_queue(base::Rng& rng, const Climate& climate, routes::BackendModel& backend) {
  backend.queue.timeout = seconds{60};
  if (climate.steady_load) return;
  if (rng.chance(150)) backend.endpoint_limits.requests = static_cast<std::uint32_t>(rng.between(1, 4));
  if (rng.chance(150)) backend.endpoint_limits.connections = static_cast<std::uint32_t>(rng.between(1, 4));
  if (!rng.chance(200)) return;
  backend.queue.limit = static_cast<std::uint32_t>(rng.below(6));
  backend.queue.timeout = milliseconds{rng.between(50, 2000)};
}

}  // namespace

routes::BackendModel draw_backend(base::Rng& rng, const Climate& climate, std::uint32_t number) {
  routes::BackendModel backend;
  backend.name = "b" + std::to_string(number);
  draw_balance(rng, backend);
  draw_queue(rng, climate, backend);
  backend.connect_timeout = milliseconds{rng.between(500, 3000)};
  // It runs from the moment that the kernel has the whole request; the slowest links need seconds to empty a buffer.
  backend.response_timeout = milliseconds{rng.between(10000, 20000)};
  if (climate.steady_load && climate.pace != nullptr) backend.response_timeout = seconds{300};
  backend.idle_timeout = milliseconds{rng.between(200, 20000)};
  backend.idle_per_endpoint = static_cast<std::uint32_t>(rng.chance(200) ? rng.below(3) : 256);
  backend.idle_per_endpoint_max = 2 * backend.idle_per_endpoint;
  backend.drain_deadline = milliseconds{rng.between(1000, 10000)};
  backend.retries = static_cast<std::uint32_t>(climate.steady_load ? rng.between(2, 3) : rng.below(4));
  if (climate.relay_only) backend.retries = 0;
  if (climate.checks) {
    const Duration every = milliseconds{rng.between(200, 1000)};
    backend.health = routes::HealthModel{.every = every, .timeout = every};
  }
  return backend;
}

const char* excuse_of_race(const Exchange& exchange, const Group& group) {
  if (group.habits.idle_close_max == Duration{}) return nullptr;
  if (group.model.retries == 0) return "keep-alive race without retries";
  if (Ledger::repeatable(exchange)) return nullptr;
  // Only a FIN tells that a request came too late, and only what is still at hand can then be sent again.
  return group.habits.idle_close_by_reset || exchange.request_bytes >= Ledger::replay_bytes_max ? "keep-alive race"
                                                                                                : nullptr;
}

BackendHabits draw_habits(base::Rng& rng, const Climate& climate) {
  BackendHabits habits;
  if (climate.idle_closes && rng.chance(700)) {
    habits.idle_close_min = microseconds{rng.between(1, 2000)};
    habits.idle_close_max = habits.idle_close_min + milliseconds{rng.between(1, 200)};
    habits.idle_close_by_reset = rng.chance(300);
  }
  if (climate.nasty_links && rng.chance(300)) habits.read_max = static_cast<std::uint32_t>(rng.between(100, 4000));
  if (climate.host_faults && rng.chance(300)) {
    habits.accept_delay = milliseconds{rng.between(1, 300)};
    habits.backlog = static_cast<std::uint32_t>(rng.between(1, 4));
  }
  return habits;
}

Voice draw_voice(base::Rng& rng, const Climate& climate, Site& site) {
  Voice voice;
  if (climate.tongues.tls && rng.chance(500)) voice.tls = &site.tls();
  if (climate.tongues.h2 && rng.chance(600)) {
    using enum routes::BackendProtocol;
    voice.protocol = voice.tls == nullptr ? h2c : rng.chance(500) ? h2 : automatic;
  }
  voice.rude = climate.rude_clients && rng.chance(600);
  voice.useless = climate.host_faults;  // whatever is lost then is excused
  voice.hello_delay_max = climate.steady_load ? milliseconds{200} : seconds{3};
  return voice;
}

Exchange draw_exchange(base::Rng& rng, const Climate& climate, std::uint32_t backends) {
  Exchange exchange;
  exchange.backend = static_cast<std::uint32_t>(rng.below(backends));
  constexpr const char* methods[] = {"GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "DELETE"};
  exchange.method = methods[rng.below(std::size(methods))];
  if (climate.malformed && rng.chance(100)) {
    exchange.due = Due::refusal;
    exchange.method = "GET";
    return exchange;
  }
  if (exchange.method == "POST" || exchange.method == "PUT") {
    exchange.request_body = rng.chance(500) ? BodyKind::length : BodyKind::chunked;
    exchange.request_bytes = draw_size(rng, climate);
    if (climate.malformed && exchange.request_body == BodyKind::chunked && rng.chance(100))
      exchange.due = Due::late_refusal;
  } else if (exchange.method == "GET" && rng.chance(60)) {
    exchange.upgrade = true;
    exchange.request_bytes = draw_size(rng, climate) + 1;
  }
  exchange.plan = draw_plan(rng, climate, exchange.request_body != BodyKind::none);
  if (climate.pace != nullptr) draw_pace(rng, climate, exchange);
  if (exchange.due == Due::late_refusal) exchange.plan.early = false;
  return exchange;
}

ClientScript draw_script(base::Rng& rng, const Climate& climate, const routes::Timeouts& timeouts) {
  ClientScript script;
  script.idle_limit = timeouts.client_idle;
  script.depth = rng.chance(700) ? 1 : static_cast<std::uint32_t>(rng.between(2, 5));
  if (rng.chance(80)) script.minor = 0, script.depth = 1;
  if (rng.chance(150)) {
    script.write_max = static_cast<std::uint32_t>(rng.between(5, 400));
    script.write_gap = microseconds{rng.between(10, 5000)};
  }
  if (rng.chance(200)) {
    script.read_max = static_cast<std::uint32_t>(rng.between(500, 8000));
    script.read_gap = microseconds{rng.between(10, 10000)};
  }
  if (rng.chance(400)) script.pause = microseconds{rng.between(1, 200000)};
  if (climate.steady_load) script.pause = milliseconds{rng.between(20, 200)}, script.depth = 1;
  if (climate.sparse) script.pause = milliseconds{rng.between(500, 5000)};
  if (rng.chance(50) && !climate.steady_load)
    script.pause = timeouts.client_idle + milliseconds{rng.between(0, 20)} - milliseconds{10};
  if (climate.relay_only) script.minor = 1, script.depth = 1;
  script.half_close = rng.chance(100) && climate.pace == nullptr;
  script.close_last = rng.chance(150);
  if (climate.rude_clients && rng.chance(400)) {
    constexpr Leave ways[] = {Leave::by_close, Leave::by_reset, Leave::by_silence};
    script.leave = ways[rng.below(std::size(ways))];
    script.leave_after = rng.chance(500) ? rng.below(400) : rng.below(60000);
  }
  return script;
}

}  // namespace ebb::sim
