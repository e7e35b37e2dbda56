#include "sim/client.h"

#include <algorithm>
#include <iterator>

namespace ebb::sim {

namespace {

constexpr Duration reconnect_delay = milliseconds{10};
constexpr Duration continue_patience = seconds{1};
constexpr std::string_view websocket_close = "\x88\x02\x03\xe9";
constexpr std::uint32_t again_max = 20;  // times that a request is asked again because nothing was done about it
constexpr Duration timer_slack = milliseconds{150};  // the longest way that a link has, and a late timer

// Each is ambiguous or wrong in one way (RFC 9112), or for nobody; none may reach a backend.
std::string refused_request(std::uint64_t id) {
  const std::string line = "GET /x/" + std::to_string(id) + " HTTP/1.1\r\n";
  const std::string named = "X-Sim-Id: " + std::to_string(id) + "\r\n";
  const std::string variants[] = {
      line + named + "\r\n",
      line + "Host: a\r\nHost: b\r\n" + named + "\r\n",
      line + "Host : b0.test\r\n" + named + "\r\n",
      line + "Host: b0.test\r\nContent-Length: 3\r\nContent-Length: 4\r\n" + named + "\r\n",
      line + "Host: b0.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n" + named + "\r\n",
      line + "Host: b0.test\r\n" + named + " folded\r\n\r\n",
      "GET /x/" + std::to_string(id) + " HTTP/3.1\r\nHost: b0.test\r\n" + named + "\r\n",
      "GET  /x HTTP/1.1\r\nHost: b0.test\r\n\r\n",
      line + "Host: nowhere.test\r\n" + named + "\r\n",
  };
  return variants[id % std::size(variants)];
}

bool bodiless(const Exchange& exchange, int status) {
  return exchange.method == "HEAD" || status == 204 || status == 304;
}

}  // namespace

Client::Client(Surroundings surroundings, ClientScript script)
    : s_(std::move(surroundings)), rng_(s_.world.rng().next()), script_(std::move(script)) {}

void Client::start() { soon(); }

void Client::soon() {
  if (scheduled_) return;
  scheduled_ = true;
  s_.world.after(microseconds{rng_.below(30)}, [this] { act(); });
}

void Client::later(Duration delay) {
  s_.world.after(delay, [this] { soon(); });
}

void Client::act() {
  scheduled_ = false;
  if (silent_) return;
  if (!line_) {
    if (next_ < script_.exchanges.size() && !pausing_) connect();
    return;
  }
  line_->work();
  if (line_->error() != 0) {
    read();
    if (line_ && !silent_) connection_ended(true);
    return;
  }
  if (!opened_ && !line_->open()) {
    if (line_->finished()) connection_ended(false);  // in the middle of a handshake
    return;
  }
  opened_ = true;
  send_requests();
  write();
  if (leaves_now()) return leave();
  read();
  if (!line_ || silent_ || !line_->finished() || !in_.empty()) return;
  if (line_->clean()) reader_.peer_finished();
  if (reader_.state() == MessageReader::State::complete) answer_complete();
  if (line_) connection_ended(false);
}

void Client::connect() {
  connection_number_ += 1;
  quiet_since_ = s_.world.now();
  if (s_.dial) {
    line_ = s_.dial();
  } else {
    auto wire = std::make_unique<Wire>(s_.network);
    wire->connect(script_.from, s_.target());
    line_ = std::move(wire);
  }
  line_->on_change([this] { soon(); });
  if (line_->open()) soon();
}

// ---- asking ----------------------------------------------------------------------------------------------------

void Client::send_requests() {
  while (waiting_.size() < script_.depth && next_ < script_.exchanges.size()) {
    if (pausing_ || last_answer_ || finished_ || !held_back_.empty()) return;
    Exchange& exchange = *s_.ledger.find(script_.exchanges[next_]);
    const bool alone =
        exchange.upgrade || exchange.due != Due::service || exchange.plan.continue_first || exchange.plan.early;
    if (!waiting_.empty() && (alone || asked_alone_)) return;
    asked_alone_ = alone;
    const bool last = next_ + 1 == script_.exchanges.size();
    if (exchange.sent_at == Instant{}) exchange.sent_at = s_.world.now();
    exchange.asked += 1;
    asked_at_ = s_.world.now();
    s_.world.note("ask", exchange.id, line_->number());
    waiting_.push_back(exchange.id);
    next_ += 1;
    out_.push(request_text(exchange, last));
    if (exchange.upgrade) {
      send_eagerly(exchange);
    } else {
      send_body(exchange);
    }
    if (last && script_.half_close && !exchange.upgrade) finished_ = true;
  }
}

void Client::send_body(const Exchange& exchange) {
  if (exchange.request_body == BodyKind::none) return;
  std::string body = Content(exchange.id, Direction::request).text(0, exchange.request_bytes);
  const bool spoilt = exchange.due == Due::late_refusal && chunks(exchange);
  if (spoilt && line_->is_stream()) {
    finished_ = true;  // before the length that it has promised
  } else if (chunks(exchange)) {
    body = chunked(body, exchange.plan.chunk);
    if (spoilt) body.replace(body.size() - 5, 5, "no size\r\n\r\n");
  }
  if (!exchange.plan.continue_first) return out_.push(body);
  held_back_ = std::move(body);
  // RFC 9110 10.1.1: a client does not wait for ever.
  s_.world.after(continue_patience, [this, number = connection_number_] {
    if (number != connection_number_ || held_back_.empty()) return;
    out_.push(std::exchange(held_back_, {}));
    soon();
  });
}

// Some speak the new protocol before they know that it was accepted.
void Client::send_eagerly(const Exchange& exchange) {
  eager_ = rng_.chance(300) ? rng_.between(1, exchange.request_bytes) : 0;
  out_.push(Content(exchange.id, Direction::request).text(0, eager_));
}

std::string Client::request_text(Exchange& exchange, bool last) const {
  if (exchange.due == Due::refusal && !line_->is_stream()) return refused_request(exchange.id);
  std::string text = exchange.method + " /" + exchange.segment + "/" + std::to_string(exchange.id) + " HTTP/1." +
                     std::to_string(script_.minor) + "\r\nHost: b" + std::to_string(exchange.backend) +
                     ".test\r\nX-Sim-Id: " + std::to_string(exchange.id) + "\r\n";
  text += "X-Tenant: " + script_.from.text() + "\r\n";
  const auto cookie = cookies_.find(exchange.backend);
  exchange.bound_to = cookie == cookies_.end() ? "" : cookie->second.endpoint;
  if (cookie != cookies_.end()) text += "Cookie: own=1; " + cookie->second.value + "\r\n";
  if (exchange.due == Due::refusal) return text + "X-Sim-Malformed: " + std::to_string(exchange.id) + "\r\n\r\n";
  if (exchange.upgrade) {
    text += "Connection: Upgrade\r\nUpgrade: " + std::string(exchange.protocol) + "\r\n";
    if (!line_->is_stream()) text += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    return text + "Sec-WebSocket-Version: 13\r\n\r\n";
  }
  if (last && script_.close_last) text += "Connection: close\r\n";
  if (exchange.plan.continue_first) text += "Expect: 100-continue\r\n";
  if (exchange.due == Due::late_refusal && chunks(exchange) && line_->is_stream()) {
    text += "Content-Length: " + std::to_string(exchange.request_bytes + 5) + "\r\n";
  } else if (chunks(exchange)) {
    text += "Transfer-Encoding: chunked\r\n";
  } else if (exchange.request_body != BodyKind::none) {
    text += "Content-Length: " + std::to_string(exchange.request_bytes) + "\r\n";
  }
  return text + "\r\n";
}

// HTTP/1.0 knows no chunks.
bool Client::chunks(const Exchange& exchange) const {
  return exchange.request_body == BodyKind::chunked && script_.minor == 1;
}

void Client::write() {
  if (!out_.empty() && s_.world.now() >= write_next_) {
    const std::size_t sent = line_->send(out_.view().substr(0, script_.write_max));
    out_.drop(sent);
    moved_ += sent;
    if (sent > 0 && script_.write_gap > Duration{}) {
      write_next_ = s_.world.now() + script_.write_gap;
      later(script_.write_gap);
    } else if (sent > 0 && !out_.empty()) {
      soon();
    }
  }
  if (finished_ && out_.empty() && held_back_.empty()) line_->finish();
}

// ---- reading ---------------------------------------------------------------------------------------------------

void Client::read() {
  if (s_.world.now() < read_next_ && line_->error() == 0) return;
  const std::string bytes = line_->read(script_.read_max);
  moved_ += bytes.size();
  in_.push(bytes);
  if (!bytes.empty() && script_.read_gap > Duration{}) {
    read_next_ = s_.world.now() + script_.read_gap;
    later(script_.read_gap);
  } else if (line_->readable() > 0) {
    soon();
  }
  if (leaves_now()) return leave();
  while (line_ && !in_.empty() && read_message()) {
  }
}

// True if a whole message was read and the next may follow.
bool Client::read_message() {
  if (waiting_.empty()) {
    s_.world.fail("a client got bytes that it had not asked for: " + std::string(in_.view().substr(0, 60)));
    in_.clear();
    return false;
  }
  if (tunnel_) return read_tunnel();
  reader_.feed(in_);
  if (reader_.state() == MessageReader::State::head_complete) {
    answer_begins();
    if (tunnel_ || reader_.state() == MessageReader::State::head) return true;  // 101, or interim
    reader_.feed(in_);
  }
  if (reader_.state() == MessageReader::State::bad) {
    s_.world.fail("bad framing in the answer to exchange " + std::to_string(waiting_.front()));
    in_.clear();
    return false;
  }
  check_body(current());
  if (reader_.state() != MessageReader::State::complete) return false;
  answer_complete();
  return true;
}

void Client::answer_begins() {
  Exchange& exchange = current();
  const int status = reader_.status();
  if (status == 100 || status == 103) {
    if (status == 100 && !held_back_.empty()) out_.push(std::exchange(held_back_, {}));
    reader_.next();
    soon();
    return;
  }
  body_read_ = 0;
  from_backend_ = !reader_.field("x-sim-id").empty();
  if (from_backend_ && reader_.field("x-sim-id") != std::to_string(exchange.id))
    s_.world.fail("the answer to exchange " + std::to_string(exchange.id) + " is another's");
  if (from_backend_) note_endpoint(exchange);
  if (!from_backend_) exchange.cause = reader_.field("ebbgate-cause");
  if (!from_backend_ && status >= 400 && exchange.cause.empty() && s_.says_cause)
    s_.world.fail("exchange " + std::to_string(exchange.id) + " was refused without a cause");
  if (status == 101 && exchange.upgrade) {
    tunnel_ = true;
    out_.push(Content(exchange.id, Direction::request).text(eager_, exchange.request_bytes - eager_));
    finished_ = script_.half_close;
    soon();
    return;
  }
  if (from_backend_ && status != exchange.plan.status)
    s_.world.fail("exchange " + std::to_string(exchange.id) + " was answered with another status");
  if (script_.minor == 0 && reader_.has_token("transfer-encoding", "chunked"))
    s_.world.fail("an HTTP/1.0 client was sent chunks");
  const bool closes = reader_.has_token("connection", "close") || line_->is_stream();
  if (closes || script_.minor == 0) last_answer_ = true;
  if (exchange.upgrade && eager_ > 0) last_answer_ = true;  // refused: what we sent too early is no request
  const auto [kind, length] = reader_.framing(BodyKind::until_close);
  if (bodiless(exchange, status)) return reader_.start_body(BodyKind::none, 0);
  reader_.start_body(kind, length);
}

void Client::note_endpoint(const Exchange& exchange) {
  const std::string endpoint(reader_.field("x-sim-endpoint"));
  const std::string given(reader_.field("set-cookie"));
  s_.ledger.served(exchange, endpoint, !given.empty());
  if (!given.empty() && script_.cookies) cookies_[exchange.backend] = {given.substr(0, given.find(';')), endpoint};
}

void Client::check_body(const Exchange& exchange) {
  const std::string body = reader_.take_body();
  if (from_backend_ && !Content(exchange.id, Direction::response).matches(body_read_, body))
    s_.world.fail("answer bytes of exchange " + std::to_string(exchange.id) + " are not its own");
  body_read_ += body.size();
}

bool Client::read_tunnel() {
  const Exchange& exchange = current();
  std::string bytes = in_.pop(in_.size());
  // A WebSocket whose endpoint's time is over is told so.
  if (exchange.excuse != nullptr && bytes.ends_with(websocket_close))
    bytes.resize(bytes.size() - websocket_close.size());
  if (!Content(exchange.id, Direction::request).matches(body_read_, bytes))
    s_.world.fail("tunnelled bytes of exchange " + std::to_string(exchange.id) + " are not its own");
  body_read_ += bytes.size();
  if (body_read_ < exchange.request_bytes) return false;
  if (body_read_ > exchange.request_bytes) s_.world.fail("more came out of a tunnel than went in");
  s_.ledger.end(exchange.id, Outcome::answered, 101);
  waiting_.pop_front();
  close();
  later(reconnect_delay);
  return false;
}

void Client::answer_complete() {
  const Exchange& exchange = current();
  const int status = reader_.status();
  if (from_backend_ && !bodiless(exchange, status) && body_read_ != exchange.plan.bytes)
    s_.world.fail("a truncated answer was delivered as complete, exchange " + std::to_string(exchange.id));
  s_.ledger.end(exchange.id, from_backend_ ? Outcome::answered : Outcome::refused, status);
  waiting_.pop_front();
  reader_.next();
  answers_ += 1;
  // The router's idle time begins when its kernel has taken the answer, which may be long before we have read it, but
  // not before we asked.
  quiet_since_ = asked_at_;
  if (!held_back_.empty()) last_answer_ = true;  // the body was promised and will not come
  if (all_answered() && script_.never_leaves && !last_answer_) return;
  if (last_answer_ || all_answered()) {
    next_ -= waiting_.size();  // behind a last answer: to be asked again elsewhere
    waiting_.clear();
    const bool pauses = line_->is_stream();
    close();
    later(pauses ? std::max(reconnect_delay, script_.pause) : reconnect_delay);
    return;
  }
  if (script_.pause == Duration{}) return soon();
  pausing_ = true;
  s_.world.after(script_.pause, [this] {
    pausing_ = false;
    soon();
  });
}

// ---- leaving ---------------------------------------------------------------------------------------------------

bool Client::leaves_now() { return script_.leave != Leave::never && moved_ >= script_.leave_after; }

void Client::leave() {
  s_.world.note("client leaves", line_->number(), static_cast<std::uint64_t>(script_.leave));
  for (const std::uint64_t id : waiting_) s_.ledger.end(id, Outcome::abandoned, 0);
  for (; next_ < script_.exchanges.size(); ++next_) s_.ledger.end(script_.exchanges[next_], Outcome::abandoned, 0);
  waiting_.clear();
  switch (std::exchange(script_.leave, Leave::never)) {
    case Leave::never: return;
    case Leave::by_silence: silent_ = true; return;
    case Leave::by_close: return close();
    case Leave::by_reset: line_->reset(); return forget();
  }
}

void Client::stop_misbehaving() {
  script_.leave = Leave::never;
  script_.write_max = script_.read_max = 65536;
  script_.write_gap = script_.read_gap = {};
  if (line_ != nullptr) line_->calm_down();
  if (!silent_) return;
  silent_ = false;
  line_->reset();
  forget();
}

// Of a stream. False: it is to be judged like any connection.
bool Client::stream_ended() {
  if (!line_->is_stream()) return false;
  if (waiting_.empty()) {  // the connection has ended before it asked
    close();
    later(reconnect_delay);
    return true;
  }
  Exchange& exchange = current();
  if (exchange.due == Due::refusal) s_.ledger.excuse(exchange.id, "what breaks HTTP/2 may be answered by a reset");
  const bool again = line_->unprocessed() && ++exchange.asked_again <= again_max;
  if (!again && !line_->by_own_hand()) return false;
  if (again) {
    next_ -= 1;
  } else {
    s_.ledger.end(exchange.id, Outcome::abandoned, 0);
  }
  waiting_.clear();
  close();
  later(reconnect_delay);
  return true;
}

// The router, or the path, has ended the connection.
void Client::connection_ended(bool reset) {
  if (stream_ended()) return;
  const bool may_close =
      last_answer_ || script_.never_leaves || s_.ledger.excusing_all() || (!opened_ && s_.listeners_change());
  if (waiting_.empty()) {
    const Duration quiet = s_.world.now() - quiet_since_;
    if (!may_close && quiet + timer_slack < script_.idle_limit)
      s_.world.fail(!opened_ ? "a client connection was refused"
                    : reset  ? "an idle client connection was reset"
                             : "an idle client connection was closed early");
  } else {
    const Exchange& exchange = current();
    // close_notify vouches for what came before it (RFC 8446 6.1).
    const bool cut = reader_.state() == MessageReader::State::body || (reader_.begun() && !tunnel_ && answers_ == 0);
    if (!reset && cut && line_->secure() && line_->clean())
      s_.world.fail("a cut answer was vouched for by close_notify, exchange " + std::to_string(exchange.id));
    const bool untouched = answers_ > 0 && !reader_.begun() && in_.empty();
    const bool race = untouched && (may_close || asked_at_ - quiet_since_ + timer_slack >= script_.idle_limit);
    // We wrote behind the router's FIN: its kernel's reset may destroy what we have not read (RFC 9112 9.6).
    const bool wrote_late = reset && line_->finish_seen() && (waiting_.size() > 1 || !out_.empty());
    if (wrote_late) s_.ledger.excuse(exchange.id, "wrote to a connection that was being closed");
    if (line_->in_message()) s_.ledger.excuse(exchange.id, "its client is in the middle of a TLS message");
    if (race) s_.ledger.excuse(exchange.id, "the idle connection was being closed");
    if (!race || !exchange.idempotent) {
      s_.ledger.end(exchange.id, Outcome::broken, reader_.state() == MessageReader::State::head ? 0 : reader_.status());
      waiting_.pop_front();
    }
    ask_rest_again();
  }
  close();
  later(reconnect_delay);
}

// Requests that were pipelined behind the broken one: what may have been executed is not asked again.
void Client::ask_rest_again() {
  std::vector<std::uint64_t> again;
  for (const std::uint64_t id : std::exchange(waiting_, {})) {
    if (s_.ledger.find(id)->idempotent) {
      again.push_back(id);
      continue;
    }
    s_.ledger.excuse(id, "pipelined behind a broken exchange");
    s_.ledger.end(id, Outcome::broken, 0);
  }
  next_ -= again.size();
  std::ranges::copy(again, script_.exchanges.begin() + static_cast<std::ptrdiff_t>(next_));
}

void Client::close() {
  line_->close();
  forget();
}

void Client::forget() {
  line_.reset();
  connection_number_ += 1;
  in_.clear();
  out_.clear();
  held_back_.clear();
  reader_.next();
  answers_ = 0;
  tunnel_ = last_answer_ = finished_ = asked_alone_ = opened_ = false;
}

}  // namespace ebb::sim
