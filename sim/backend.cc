#include "sim/backend.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace ebb::sim {

namespace {

// Time for a snapshot to reach all workers, and for what was chosen before it to be sent.
constexpr Duration retire_grace = milliseconds{100};
constexpr Duration slow_hello = milliseconds{50};

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Backend::Backend(World& world, Network& network, Ledger& ledger, const base::Address& address, std::uint32_t backend)
    : world_(world),
      network_(network),
      ledger_(ledger),
      rng_(world.rng().next()),
      address_(address),
      name_(address.text()),
      backend_(backend) {}

void Backend::open() {
  if (!port_) port_ = network_.listen(address_, *this, {}, habits_.backlog);
}

void Backend::refuse() {
  if (!port_) return;
  ledger_.unwell(backend_);
  ledger_.swallowed(backend_, network_.close_port(port_));
  port_ = {};
}

void Backend::on_port_changed(base::Handle) {
  world_.after(habits_.accept_delay, [this] { accept_one(); });
}

void Backend::accept_one() {
  if (ill_ == Ill::frozen || !port_ || !network_.waiting(port_)) return;
  std::unique_ptr<Line> line = accept_line();
  if (voice_.tls == nullptr && voice_.may_speak_h2()) return add_trunk(std::move(line));
  Connection& connection = add_connection(std::move(line));
  if (ill_ == Ill::resets && rng_.chance(500)) return close_idle(connection, true);
  schedule(connection);
}

std::unique_ptr<Line> Backend::accept_line() {
  auto wire = std::make_unique<Wire>(network_);
  wire->accept(port_);
  if (voice_.tls == nullptr) return wire;
  const TlsManners manners = draw_tls_manners(rng_, voice_, TlsSite::Peer::endpoint);
  if (manners.hello_delay > slow_hello) ledger_.disturb(name_);
  constexpr const char* either[] = {"h2", "h2", "http/1.1", ""};
  const bool chooses = voice_.protocol == routes::BackendProtocol::automatic;
  const TlsSite::PeerWish wish{.tls12 = manners.tls12,
                               .alpn = chooses                 ? either[rng_.below(std::size(either))]
                                       : voice_.may_speak_h2() ? "h2"
                                                               : "http/1.1"};
  return std::make_unique<TlsLine>(world_, *voice_.tls, TlsSite::Peer::endpoint, std::move(wire), wish, manners);
}

Backend::Connection& Backend::add_connection(std::unique_ptr<Line> line) {
  const base::Handle handle = connections_.emplace();
  Connection& connection = *connections_.find(handle);
  connection.self = handle;
  connection.line = std::move(line);
  connection.line->on_change([this, handle] {
    if (Connection* changed = connections_.find(handle)) schedule(*changed);
  });
  return connection;
}

void Backend::schedule(Connection& connection) {
  if (connection.scheduled) return;
  connection.scheduled = true;
  world_.after(microseconds{rng_.below(50)}, [this, handle = connection.self] { act(handle); });
}

void Backend::drop(Connection& connection, bool by_reset) {
  if (by_reset) {
    connection.line->reset();
  } else {
    connection.line->close();
  }
  connections_.erase(connection.self);
}

// Its process is gone.
void Backend::vanish(Connection& connection) {
  connection.line->drop();
  connections_.erase(connection.self);
}

void Backend::act(base::Handle handle) {
  Connection* connection = connections_.find(handle);
  if (connection == nullptr) return;
  connection->scheduled = false;
  if (ill_ == Ill::frozen) return;
  connection->line->work();
  if (connection->line->error() != 0) return drop(*connection, false);
  if (!connection->greeted && !connection->line->open()) {
    if (connection->line->finished()) drop(*connection, false);
    return;
  }
  if (!std::exchange(connection->greeted, true) && connection->line->agreed() == "h2") {
    std::unique_ptr<Line> line = std::move(connection->line);
    connections_.erase(handle);
    return add_trunk(std::move(line));
  }
  if (!connection->stalled && !read(*connection)) return;
  if (ill_ != Ill::mute) write(*connection);
  connection = connections_.find(handle);
  if (connection == nullptr || !connection->line->finished() || !connection->out.empty()) return;
  // A peer that only closed its half still gets the answer to its last request, and the rest of a tunnel.
  const bool owes = connection->tunnel ? world_.now() < connection->speaks_at
                                       : connection->request_over && connection->answer != Answer::written;
  // The end of a stream's request is no end of its connection.
  if (connection->stalled && connection->line->is_stream()) return;
  if (!owes || connection->stalled) drop(*connection, false);
}

// ---- connections of HTTP/2 -------------------------------------------------------------------------------------

void Backend::add_trunk(std::unique_ptr<Line> line) {
  std::erase_if(trunks_, [](const auto& trunk) { return trunk->over(); });
  const H2Manners manners = draw_h2_manners(rng_, voice_);
  if (manners.settings_delay > slow_hello) ledger_.disturb(name_);
  const std::size_t number = ++trunk_count_;
  Trunk::Told told;
  told.stream = [this](std::unique_ptr<Line> stream) { schedule(add_connection(std::move(stream))); };
  told.refused = [this](std::uint64_t exchange) { ledger_.refused(exchange); };
  told.goes_away = [this] { ledger_.goes_away(backend_); };
  told.idle = [this, number] { rest_trunk(number); };
  trunks_.push_back(std::make_shared<Trunk>(world_, Trunk::Role::endpoint, std::move(line), manners, std::move(told)));
  const std::shared_ptr<Trunk> trunk = trunks_.back();
  trunk->set_number(number);
  trunk->begin();
  if (ill_ == Ill::resets && rng_.chance(500)) trunk->end(Trunk::End::reset);
}

std::vector<std::shared_ptr<Trunk>> Backend::open_trunks() {
  std::erase_if(trunks_, [](const auto& trunk) { return trunk->over(); });
  return trunks_;
}

// It has no streams: some endpoints then do not keep it for long.
void Backend::rest_trunk(std::size_t number) {
  if (habits_.idle_close_max == Duration{}) return;
  world_.after(world_.draw(habits_.idle_close_min, habits_.idle_close_max), [this, number] {
    for (const auto& trunk : open_trunks())
      if (trunk->number() == number && trunk->idle() && trunk->served() && ill_ != Ill::frozen) trunk->go_away();
  });
}

void Backend::calm_down() {
  voice_.rude = voice_.useless = false;
  voice_.hello_delay_max = {};
  for (const auto& trunk : open_trunks()) trunk->calm_down();
  connections_.for_each([](base::Handle, const Connection& connection) { connection.line->calm_down(); });
}

// False if the connection was dropped.
bool Backend::read(Connection& connection) {
  connection.in.push(connection.line->read(habits_.read_max));
  if (connection.line->readable() > 0) schedule(connection);
  if (connection.tunnel) {
    if (world_.now() >= connection.speaks_at) connection.out.push(connection.in.pop(connection.in.size()));
    return true;
  }
  if (connection.in.empty()) return true;
  if (connection.request_over && connection.exchange != 0) {
    if (ledger_.find(connection.exchange)->upgrade) return true;  // eager bytes for the tunnel
    world_.fail("a backend got bytes of a second request before its answer to exchange " +
                std::to_string(connection.exchange));
    return true;
  }
  connection.reader.feed(connection.in);
  if (connection.reader.state() == MessageReader::State::head_complete) {
    begin(connection);
    if (connection.exchange == 0) return true;
    connection.reader.feed(connection.in);
  }
  if (connection.exchange != 0) take_body(connection);
  return true;
}

void Backend::begin(Connection& connection) {
  connection.idle_count += 1;
  if (connection.reader.first_line().starts_with("GET /healthz ")) return answer_check(connection);
  const std::uint64_t id = number_in(connection.reader.field("x-sim-id"));
  Exchange* exchange = ledger_.find(id);
  const std::string segment = exchange == nullptr ? "" : exchange->segment;
  const std::string target = " /" + segment + "/" + std::to_string(id) + " ";
  if (exchange == nullptr || connection.reader.first_line().find(target) == std::string::npos) {
    world_.fail("a backend got a request that nobody sent: " + connection.reader.first_line());
    return;
  }
  world_.note("backend head", id, connection.line->number());
  if (connection.reader.field("cookie").find("EBB=") != std::string_view::npos)
    world_.fail("a backend saw the router's cookie, exchange " + std::to_string(id));
  if (exchange->backend != backend_) world_.fail("exchange " + std::to_string(id) + " reached another backend");
  if (retired_ && exchange->sent_at > retired_at_ + retire_grace)
    world_.fail("exchange " + std::to_string(id) + " reached an endpoint that had left");
  ledger_.head_arrived(*exchange, name_);
  connection.exchange = id;
  connection.body_read = 0;
  connection.request_over = false;
  const auto [kind, length] = connection.reader.framing(BodyKind::none);
  connection.reader.start_body(kind, length);
  const ResponsePlan& plan = exchange->plan;
  if (plan.continue_first && connection.reader.has_token("expect", "100-continue"))
    connection.out.push("HTTP/1.1 100 Continue\r\n\r\n");
  if (plan.early) answer_after_thought(connection);
}

// The router's own. A connection serves one.
void Backend::answer_check(Connection& connection) {
  connection.out.push("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  connection.answer = Answer::writing;
  connection.after = After::close;
}

void Backend::take_body(Connection& connection) {
  Exchange& exchange = *ledger_.find(connection.exchange);
  const std::string body = connection.reader.take_body();
  if (!Content(exchange.id, Direction::request).matches(connection.body_read, body))
    world_.fail("request bytes of exchange " + std::to_string(exchange.id) + " are not its own");
  connection.body_read += body.size();
  if (connection.reader.state() == MessageReader::State::bad)
    world_.fail("a backend got a body with bad framing, exchange " + std::to_string(exchange.id));
  if (connection.reader.state() != MessageReader::State::complete || connection.request_over) return;
  connection.request_over = true;
  // In a tunnel the bytes come after the answer.
  if (connection.body_read != (exchange.upgrade ? 0 : exchange.request_bytes))
    world_.fail("a backend got a request of another length, exchange " + std::to_string(exchange.id));
  ledger_.executed(exchange);
  if (connection.answer == Answer::none) {
    answer_after_thought(connection);
  } else {
    message_over(connection);
  }
}

void Backend::answer_after_thought(Connection& connection) {
  connection.answer = Answer::thinking;
  const base::Handle handle = connection.self;
  const std::uint64_t id = connection.exchange;
  const Duration time = time_to_think(ledger_.find(id)->plan.think);
  if (ResponsePlan{.think = time}.slow()) ledger_.disturb(name_);
  world_.after(time, [this, handle, id] {
    Connection* found = connections_.find(handle);
    if (found == nullptr || found->exchange != id || found->line->error() != 0) return;
    if (ill_ == Ill::frozen) {
      found->answer_due = true;
      return;
    }
    answer(*found, *ledger_.find(id));
  });
}

Duration Backend::time_to_think(Duration needed) {
  const Instant now = world_.now();
  if (warm_at_ == Instant{}) warm_at_ = now + habits_.cold;
  Instant done = std::max(now + needed + habits_.slow, warm_at_);
  if (habits_.serial) done = busy_until_ = std::max(busy_until_, now) + (done - now);
  return done - now;
}

void Backend::answer(Connection& connection, Exchange& exchange) {
  if (ill_ == Ill::resets) return drop(connection, true);
  if (hangs()) {
    if (ill_ == Ill::gray) ledger_.excuse(exchange.id, "never answered by one that answers others");
    connection.stalled = true;
    return;
  }
  const bool strikes = exchange.attempts <= exchange.plan.strikes;
  const Strike strike = strikes ? exchange.plan.strike : Strike::none;
  if (strike != Strike::none) {
    ledger_.struck(exchange, strike, connection.served > 0);
    ledger_.unwell(backend_);
    ledger_.disturb(name_);
  }
  switch (strike) {
    case Strike::close_before_head: return drop(connection, false);
    case Strike::reset_before_head: return drop(connection, true);
    case Strike::stall_before_head: connection.stalled = true; return;
    case Strike::garbage_head:
      connection.out.push("HTTP/1.1 2O0 What\r\nX: y\r\n\r\n");
      connection.after = After::close;
      break;
    default: queue_answer(connection, exchange, strike); break;
  }
  exchange.answer_begun = true;
  connection.answer = Answer::writing;
  schedule(connection);
}

std::string Backend::head_of_answer(const Exchange& exchange, bool bodiless, bool closes) const {
  const ResponsePlan& plan = exchange.plan;
  std::string head;
  if (plan.hints_first) head += "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n";
  head += "HTTP/1.1 " + std::to_string(plan.status) + " Reason\r\nX-Sim-Id: " + std::to_string(exchange.id) +
          "\r\nX-Sim-Endpoint: " + name_ + "\r\n";
  if (closes) head += "Connection: close\r\n";
  if (plan.body == BodyKind::length && plan.status != 204)
    head += "Content-Length: " + std::to_string(plan.bytes) + "\r\n";
  if (plan.body == BodyKind::chunked && !bodiless) head += "Transfer-Encoding: chunked\r\n";
  return head + "\r\n";
}

void Backend::queue_answer(Connection& connection, const Exchange& exchange, Strike strike) {
  const ResponsePlan& plan = exchange.plan;
  if (exchange.upgrade) {
    connection.out.push("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " +
                        std::string(connection.reader.field("upgrade")) +
                        "\r\nX-Sim-Id: " + std::to_string(exchange.id) + "\r\nX-Sim-Endpoint: " + name_ + "\r\n\r\n");
    connection.tunnel = true;
    connection.speaks_at = world_.now() + plan.pause;
    return pause(connection, plan.pause);
  }
  const bool bodiless = exchange.method == "HEAD" || plan.status == 204 || plan.status == 304;
  const bool closes =
      ends_ || plan.close_after || plan.body == BodyKind::until_close || (plan.early && rng_.chance(500));
  // Closing while the request still arrives makes a reset, which may overtake the answer.
  if (closes && plan.early) ledger_.excuse(exchange.id, "early answer and close");
  std::string head = head_of_answer(exchange, bodiless, closes);
  std::string body;
  if (!bodiless) body = Content(exchange.id, Direction::response).text(0, plan.bytes);
  if (!bodiless && plan.body == BodyKind::chunked) body = chunked(body, plan.chunk);
  connection.after = closes ? After::close : After::keep;
  if (strike == Strike::cut_in_head) {
    head.resize(rng_.between(1, head.size() - 1));
    body.clear();
    connection.after = After::close;
  } else if (strike != Strike::none && !body.empty()) {
    body.resize(rng_.below(body.size()));
    connection.after = strike == Strike::cut_in_body     ? After::close
                       : strike == Strike::reset_in_body ? After::reset
                                                         : After::stall;
  }
  connection.out.push(head);
  if (plan.pause > Duration{} && connection.after != After::stall) {
    connection.rest = body.substr(body.size() / 2);
    body.resize(body.size() / 2);
    pause(connection, plan.pause);
  }
  connection.out.push(body);
}

void Backend::pause(Connection& connection, Duration time) {
  world_.after(time, [this, handle = connection.self, id = connection.exchange] {
    Connection* found = connections_.find(handle);
    if (found == nullptr || found->exchange != id) return;
    found->out.push(std::exchange(found->rest, {}));
    schedule(*found);
  });
}

void Backend::write(Connection& connection) {
  if (!connection.out.empty()) connection.out.drop(connection.line->send(connection.out.view()));
  if (connection.answer != Answer::writing || connection.tunnel || !connection.out.empty()) return;
  if (!connection.rest.empty()) return;
  connection.answer = Answer::written;
  switch (connection.after) {
    case After::close: return drop(connection, false);
    case After::reset: return drop(connection, true);
    case After::stall: connection.stalled = true; return;
    case After::keep: return message_over(connection);
  }
}

// Both the request and its answer are done: the next one may come.
void Backend::message_over(Connection& connection) {
  if (!connection.request_over || connection.answer != Answer::written) return;
  connection.last_exchange = std::exchange(connection.exchange, 0);
  connection.request_over = false;
  connection.answer = Answer::none;
  connection.served += 1;
  connection.reader.next();
  if (connection.line->is_stream()) return drop(connection, false);
  if (ends_) return close_idle(connection, false);
  if (!connection.in.empty()) return schedule(connection);  // the next request came with the end of this one
  wait_idle(connection);
}

void Backend::wait_idle(Connection& connection) {
  if (habits_.idle_close_max == Duration{}) return;
  connection.idle_count += 1;
  const std::uint64_t period = connection.idle_count;
  const std::uint64_t spread = static_cast<std::uint64_t>((habits_.idle_close_max - habits_.idle_close_min).count());
  const Duration wait = habits_.idle_close_min + Duration{static_cast<std::int64_t>(rng_.below(spread + 1))};
  world_.after(wait, [this, handle = connection.self, period] {
    Connection* found = connections_.find(handle);
    if (found == nullptr || found->idle_count != period || found->exchange != 0 || ill_ == Ill::frozen) return;
    close_idle(*found, habits_.idle_close_by_reset);
  });
}

}  // namespace ebb::sim
