#include "gate/clients.h"

#include "gate/client_limits.h"
#include "gate/exchanges.h"
#include "gate/gather.h"
#include "gate/h2_clients.h"
#include "gate/intake.h"
#include "gate/own_answer.h"
#include "gate/payload.h"
#include "gate/records.h"
#include "gate/request_path.h"
#include "gate/response_path.h"
#include "gate/tunnel.h"
#include "wire/h1_write.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Side;
using base::Slice;
using reactor::CloseMode;
using reactor::Receive;
using wire::Parsed;

void Clients::step(ClientConnection& client, Event event) {
  if (!client.life.step(event)) broken_.add(core_, client.self);
  client.changed = core_.reactor.now();
}

void Clients::accept(const std::shared_ptr<OpenListener>& listener, reactor::SocketId socket,
                     const base::Address& peer) {
  core_.counters.client_accepted += 1;
  if (size() >= core_.clients_max) {
    core_.reactor.close(socket, CloseMode::reset);
    core_.counters.closed_by(Side::client, Cause::connection_limit);
    return;
  }
  const Handle self = connections_.emplace();
  ClientConnection& client = *connections_.find(self);
  client.socket = socket;
  client.self = self;
  client.opened = client.changed = core_.reactor.now();
  client.peer = peer;
  client.listener = listener;
  client.timer.set_owner({owner_client, self});
  core_.reactor.adopt(socket, {owner_client, self});
  core_.reactor.receive(socket, Receive::watchful);
  greet(client);
}

void Clients::on_received(Handle handle, Slice bytes) {
  ClientConnection* client = connections_.find(handle);
  if (client == nullptr || client->life.ended()) return;
  core_.counters.client_bytes_in += bytes.size();
  if (client->life.is(State::greeting)) return take_greeting(*client, std::move(bytes));
  if (client->secure == nullptr) return take_plain(*client, std::move(bytes));
  take_encrypted(*client, std::move(bytes));
}

void Clients::take_encrypted(ClientConnection& client, Slice bytes) {
  const bool held = client.held() > 0;
  if (!client.secure->session.handshake_done()) client.spoke = true;
  const auto replies = client.life.is(State::lingering) ? Transport::Replies::dropped : Transport::Replies::sent;
  Chain plain;
  const Transport::Received received = client.decrypt(core_.reactor, std::move(bytes), plain, replies);
  core_.counters.client_bytes_out += received.replied;
  if (received.status == Transport::Status::failed) return tls_failed(client, received.cause);
  if (received.secured) secured(client);
  while (!plain.empty() && !client.life.ended()) take_plain(client, plain.pop_front());
  if (client.life.ended()) return;
  if (received.status == Transport::Status::finished) return on_peer_finished(client.self);
  // What was held has left with these bytes, and the kernel may have taken it at once.
  if (held && client.unsent(core_.reactor) == 0) on_drained(client.self);
}

void Clients::tls_failed(ClientConnection& client, Cause cause) {
  if (client.exchange) core_.exchanges->on_client_left(client.exchange, cause);
  close(client.self, cause, CloseMode::flush);
}

void Clients::secured(ClientConnection& client) {
  step(client, Event::secured);
  core_.counters.tls_handshakes += 1;
  if (client.secure->session.resumed()) core_.counters.tls_resumed += 1;
  core_.arm(client.timer, core_.timeouts().client_head);
  if (client.secure->session.alpn() == "h2") speak_h2(client);
}

void Clients::speak_h2(ClientConnection& client) {
  step(client, Event::multiplexed);
  core_.h2_clients->begin(client);
}

void Clients::take_plain(ClientConnection& client, Slice bytes) {
  switch (client.life.state()) {
    case State::idle:
    case State::reading:
      if (client.backed_up) {
        client.input.join(std::move(bytes));
        return core_.reactor.receive(client.socket, Receive::paused);
      }
      if (client.input.empty()) {
        client.input.push(std::move(bytes));
      } else {
        client.input.append(core_.reactor.blocks(), bytes.view());
      }
      return read_head(client);
    case State::serving:
      if (client.input.empty() && !client.body.complete()) {
        Chain rest;
        rest.push(std::move(bytes));
        take_body(client, rest);
        // Refused midway: the rest is thrown away, and so is what follows. Unread, it would make a reset of the close,
        // which destroys the answer (RFC 9112 9.6).
        if (client.life.is(State::lingering) || client.life.ended()) return;
        client.input.push(std::move(rest));
      } else {
        client.input.join(std::move(bytes));
      }
      if (client.input.empty()) return;
      // What lies behind this request waits; the rest of it stays in the kernel.
      core_.reactor.receive(client.socket, Receive::paused);
      if (client.life.is(State::idle) && !client.backed_up) queue(client);  // its last bytes have ended the exchange
      return;
    case State::tunnelling: return core_.tunnel->on_client_bytes(client.exchange, std::move(bytes));
    case State::multiplexing: return core_.h2_clients->on_received(client, std::move(bytes));
    case State::lingering:
    case State::greeting:
    case State::handshaking:
    case State::closed: return;
  }
}

void Clients::read_head(ClientConnection& client) {
  const bool first_bytes = client.life.is(State::idle);
  if (first_bytes) step(client, Event::bytes);
  if (first_bytes) has_work(client);
  const wire::HeadLimits limits = core_.head_limits();
  if (client.input.slices() > 1) gather(core_.reactor.blocks(), client.input, limits.head_bytes);
  const bool may_be_h2 = client.secure == nullptr && client.listener->model.http2;  // with TLS, ALPN has told
  const auto preface = may_be_h2 ? wire::find_h2_preface(client.input.front().view()) : wire::Preface::absent;
  if (preface == wire::Preface::whole) return begin_h2(client);
  const Parsed parsed = preface == wire::Preface::incomplete
                            ? Parsed{.status = Parsed::Status::incomplete}
                            : wire::parse_request(client.input.front().view(), limits, core_.request);
  switch (parsed.status) {
    case Parsed::Status::incomplete:
      gather(core_.reactor.blocks(), client.input, limits.head_bytes);
      // The time for a head begins with its first byte and is not renewed by later ones.
      if (first_bytes) core_.arm(client.timer, core_.timeouts().client_head);
      return;
    case Parsed::Status::refused:
      if (wire::speaks_no_http(client.input.front().view())) return close(client.self, parsed.cause, CloseMode::flush);
      return refuse(client, parsed.cause, parsed.why);
    case Parsed::Status::complete: break;
  }
  step(client, Event::head_complete);
  client.timer.disarm();
  client.minor = core_.request.minor;
  client.wants_keep = core_.request.keep_alive;
  client.body = wire::BodyReader(core_.request.framing, core_.request.content_length);
  client.exchange = core_.intake->begin(*this, client.self, client, core_.request);
  const Handle exchange = client.exchange;
  client.input.drop_front(parsed.consumed);
  if (!client.input.empty() && !client.body.complete()) take_body(client, client.input);
  core_.intake->start(exchange);
  if (client.life.is(State::serving) && !client.input.empty()) core_.reactor.receive(client.socket, Receive::paused);
}

// Takes what belongs to the request's body and leaves the rest.
void Clients::take_body(ClientConnection& client, Chain& bytes) {
  const Handle exchange = client.exchange;
  wire::BodyReader& body = client.body;
  while (!bytes.empty() && !body.complete()) {
    const Slice& front = bytes.front();
    const wire::BodyReader::Step step = body.next(front.view());
    if (step.status == wire::BodyReader::Step::Status::refused) return core_.request_path->on_broken(exchange);
    // It may have been too much, and the exchange is over.
    if (!core_.request_path->on_payload(exchange, front, step.payload_at, step.payload_size)) return;
    bytes.drop_front(step.consumed);
  }
  if (body.complete()) return core_.request_path->on_whole(exchange, body.trailers());
  core_.request_path->on_moved(exchange);
}

std::uint64_t Clients::body_left(Handle end) {
  EBB_FIND(client, find(end), 0);
  return client.body.remaining();
}

void Clients::on_pumped(Handle handle, std::uint64_t moved, bool done) {
  ClientConnection* client = connections_.find(handle);
  if (client == nullptr || !core_.request_path->on_pumped(client->exchange, moved)) return;
  client->body.skip(moved);
  if (done) core_.request_path->on_whole(client->exchange, {});
}

void Clients::begin_h2(ClientConnection& client) {
  speak_h2(client);
  Chain input = std::move(client.input);
  while (!input.empty() && !client.life.ended()) core_.h2_clients->on_received(client, input.pop_front());
}

void Clients::refuse(ClientConnection& client, Cause cause, const char* why) {
  OwnAnswer refusal = own_answer(cause, wire::Method::other, false);
  refusal.words = why;
  client.minor = 1;
  const std::size_t sent = send_own(client, refusal, false);
  core_.records->refused(client, cause, nullptr, sent);
  step(client, Event::refused);
  linger(client);
}

void Clients::send(ClientConnection& client, Chain&& plain) {
  if (client.life.ended()) return;
  core_.counters.client_bytes_out += client.send(core_.reactor, std::move(plain));
}

void Clients::add_head(Handle end, const wire::ResponseHead& head, bool request_whole, Chain& out) {
  EBB_FIND(client, find(end));
  if (head.interim()) {
    // HTTP/1.0 has no interim responses.
    if (client.minor > 0) out.push(wire::write_response(core_.reactor.blocks(), head, {.client_minor = 1}));
    return;
  }
  const bool length_unknown = head.framing == wire::Framing::chunked || head.framing == wire::Framing::until_close;
  client.chunked = length_unknown && client.minor > 0;
  client.close_delimited = length_unknown && client.minor == 0;
  const bool asks_no_more = client.finished && client.input.empty();
  client.keeps = client.wants_keep && request_whole && !client.close_delimited && !asks_no_more && !core_.stopping;
  out.push(wire::write_response(core_.reactor.blocks(), head,
                                {.client_minor = client.minor, .keep_alive = client.keeps, .chunked = client.chunked}));
}

void Clients::add_payload(Handle end, const Slice& source, std::uint32_t at, std::uint32_t size, Chain& out) {
  EBB_FIND(client, find(end));
  append_payload(core_.reactor.blocks(), out, source, at, size, client.chunked);
}

void Clients::send_end(Handle end, std::string_view trailers, Chain&& out) {
  EBB_FIND(client, find(end));
  if (client.chunked) append_last_chunk(core_.reactor.blocks(), out, trailers);
  if (out.empty() || client.life.ended()) return;
  // Else release() ends our half.
  core_.counters.client_bytes_out +=
      client.keeps ? client.send(core_.reactor, std::move(out)) : client.send_last(core_.reactor, std::move(out));
}

void Clients::flush(Handle end, Chain&& out) {
  if (out.empty()) return;
  EBB_FIND(client, find(end));
  send(client, std::move(out));
}

std::size_t Clients::unsent(Handle end) {
  const ClientConnection* client = find(end);
  return client == nullptr ? 0 : client->unsent(core_.reactor);
}

bool Clients::stuck(Handle end, std::size_t share) {
  const ClientConnection* client = find(end);
  return client != nullptr &&
         waits_too_much(client->unsent(core_.reactor), client->output_memory(core_.reactor), share);
}

std::size_t Clients::memory(const ClientConnection& client) const {
  const std::size_t of_streams =
      client.h2 ? client.h2->codec.held() + client.h2->charge.bytes() + core_.h2_clients->early_memory(client) : 0;
  return client.output_memory(core_.reactor) + client.input.held() + of_streams;
}

base::Backlog Clients::backlog(Handle end) {
  const ClientConnection* client = find(end);
  return client == nullptr ? base::Backlog{} : client->backlog(core_.reactor);
}

// Bytes that wait already come before those in the kernel.
void Clients::receive(Handle end, Receive mode) {
  EBB_FIND(client, find(end));
  if (!client.input.empty()) mode = Receive::paused;
  core_.reactor.receive(client.socket, mode);
}

reactor::SocketId Clients::bare_socket(Handle end) {
  EBB_FIND(client, find(end), {});
  return client.input.empty() ? client.bare_socket() : reactor::SocketId{};
}

std::size_t Clients::answer(Handle end, const OwnAnswer& answer) {
  EBB_FIND(client, find(end), 0);
  if (client.life.ended()) return 0;
  client.keeps = client.wants_keep && answer.request_whole && !core_.stopping;
  const std::size_t bytes = send_own(client, answer, client.keeps);
  release(end, answer.request_whole);
  return bytes;
}

// Returns the size of its body.
std::size_t Clients::send_own(ClientConnection& client, const OwnAnswer& answer, bool keep) {
  const routes::Model& model = core_.current->model();
  const std::string_view body = write_own_message(answer, model.errors, core_.response, text_, model.cause_header);
  // The end of the stream tells where a call's answer ends; HTTP/1 has none.
  core_.response.has_length = core_.response.has_length || answer.grpc;
  Chain out;
  out.push(
      wire::write_response(core_.reactor.blocks(), core_.response, {.client_minor = client.minor, .keep_alive = keep}));
  out.append(core_.reactor.blocks(), body);
  const std::size_t bytes = body.size();
  send(client, std::move(out));
  return bytes;
}

void Clients::release(Handle end, bool request_whole) {
  EBB_FIND(client, find(end));
  client.exchange = {};
  if (!client.keeps) {
    const bool heard_all = client.finished || (request_whole && client.input.empty());
    if (!heard_all) return part(client, Cause::close_requested);
    return close(client.self, Cause::close_requested, CloseMode::flush);
  }
  step(client, Event::kept);
  if (client.finished && client.input.empty()) return close(client.self, Cause::client_closed, CloseMode::flush);
  arm_after_exchange(client, core_.timeouts().client_idle);
  // A client that asks and does not read gets no more answers until it has taken those that wait.
  client.backed_up =
      client.unsent(core_.reactor) > copy_bytes_max && stuck(client.self, core_.reactor.blocks().share());
  if (!client.backed_up) return await_request(client);
  // TLS may need more of the client's bytes before it can send.
  core_.reactor.receive(client.socket, client.held() > 0 ? Receive::watchful : Receive::paused);
}

// A body with a length or chunks is simply not ended; where only the close delimits it, nothing but a reset says that
// it is incomplete.
void Clients::cut(Handle end, Cause cause) {
  EBB_FIND(client, find(end));
  if (client.close_delimited || cause == Cause::client_write_timeout) return close(end, cause, CloseMode::reset);
  if (client.finished || !client.life.is(State::serving)) return close(end, cause, CloseMode::flush);
  // It does not know yet, and may ask for more: the kernel would answer that with a reset, which destroys the answers
  // before this one that it has not read (RFC 9112 9.6). No close_notify: it would vouch for this one.
  client.exchange = {};
  has_work(client);
  client.parts_by = cause;
  step(client, Event::last);
  await_fin(client);
}

void Clients::await_request(ClientConnection& client) {
  if (!client.input.empty()) return queue(client);
  core_.reactor.receive(client.socket, Receive::watchful);
  begins_to_wait(client);
}

// Where nothing is limited nothing is counted.
void Clients::begins_to_wait(ClientConnection& client) {
  const routes::Limits& limits = core_.current->model().limits;
  const std::uint32_t workers = static_cast<std::uint32_t>(core_.siblings.count);
  const auto share = [workers](std::uint32_t limit) { return limit == 0 ? 0 : std::max(limit / workers, 1u); };
  const IdleClients::Limits shares{share(limits.idle_connections), share(client.listener->model.idle_connections),
                                   share(limits.idle_per_client)};
  if (!shares.any()) return;
  const Handle excess = idle_.enter(client, core_.reactor.now(), shares);
  if (!excess) return;
  EBB_FIND(last, connections_.find(excess));
  if (last.h2) return core_.h2_clients->end_idle(last, Cause::client_idle_budget);
  close(excess, Cause::client_idle_budget, CloseMode::flush);
}

void Clients::part(ClientConnection& client, Cause cause) {
  has_work(client);
  client.parts_by = cause;
  step(client, Event::last);
  linger(client);
}

base::Chain Clients::early_bytes(Handle end) {
  EBB_FIND(client, find(end), {});
  return std::move(client.input);
}

// A client that is gone sends no more.
bool Clients::finished(Handle end) {
  EBB_FIND(client, find(end), true);
  return client.finished;
}

void Clients::finish(Handle end) {
  EBB_FIND(client, find(end));
  client.finish(core_.reactor);
}

void Clients::linger(ClientConnection& client) {
  if (client.finished) return close(client.self, client.parts_by, CloseMode::flush);
  client.notify_end(core_.reactor);
  await_fin(client);
}

void Clients::await_fin(ClientConnection& client) {
  if (client.held() > 0) return close(client.self, client.parts_by, CloseMode::reset);
  client.input.clear();
  core_.reactor.finish(client.socket);
  arm_after_exchange(client, linger_time);
  core_.reactor.receive(client.socket, Receive::watchful);
}

// The exchange is over for us, but the client may still be reading the end of the response.
// Asking for more does not prolong its time to read: only what it takes does.
void Clients::arm_after_exchange(ClientConnection& client, base::Duration once_sent) {
  client.answer_waits = client.unsent(core_.reactor) > 0;
  if (!client.answer_waits) return core_.arm(client.timer, once_sent);
  core_.reactor.timers().arm(client.timer, client.backlog(core_.reactor).moved + core_.timeouts().client_write);
}

bool Clients::still_reads(ClientConnection& client) {
  const base::Backlog waits = client.backlog(core_.reactor);
  const base::Instant limit = waits.moved + core_.timeouts().client_write;
  if (waits.bytes == 0 || core_.reactor.now() >= limit) return false;
  core_.reactor.timers().arm(client.timer, limit);
  return true;
}

void Clients::become_tunnel(Handle end) {
  EBB_FIND(client, find(end));
  step(client, Event::upgraded);
  core_.reactor.receive(client.socket, Receive::watchful);
}

void Clients::close(Handle handle, Cause cause, CloseMode mode) {
  ClientConnection* client = connections_.find(handle);
  if (client == nullptr || client->life.ended()) return;
  // What is held within TLS has no way out any more: without it the last answer must not look whole.
  if (client->held() > 0) mode = CloseMode::reset;
  // close_notify vouches for what was sent: a connection that is cut short must not get it.
  const bool polite = mode == CloseMode::flush && base::facts(cause).fault == Side::none;
  if (polite && !client->life.is(State::lingering)) client->notify_end(core_.reactor);
  log_greeting(*client, cause);
  step(*client, Event::ended);
  client->timer.disarm();
  client->input.clear();
  core_.reactor.close(client->socket, mode);
  core_.counters.closed_by(Side::client, cause);
  if (client->counted) core_.client_limits->leave(client->listener->label, client->peer);
  idle_.forget(*client);
  dead_.push_back(handle);
  if (client->h2) core_.h2_clients->end_streams(*client, cause);
}

// A connection that ends before its first request, and has said something: nothing else would tell of it.
void Clients::log_greeting(const ClientConnection& client, Cause cause) {
  const bool early = client.life.is(State::handshaking) || client.life.is(State::greeting);
  if (!early || !client.spoke) return;
  core_.records->failed_handshake(client, cause, client.secure != nullptr ? client.secure->session.server_name() : "");
}

void Clients::on_peer_finished(Handle handle) {
  ClientConnection* client = connections_.find(handle);
  if (client == nullptr || client->life.ended() || client->finished) return;
  client->finished = true;
  switch (client->life.state()) {
    case State::greeting: return close(handle, Cause::client_closed, CloseMode::drop);
    case State::handshaking: return close(handle, Cause::client_tls_failed, CloseMode::drop);
    case State::idle:
      // Requests before the end have yet to be read.
      if (client->listener->model.half_close && !client->input.empty()) return;
      return close(handle, Cause::client_closed, CloseMode::flush);
    case State::reading: return close(handle, Cause::client_aborted, CloseMode::flush);
    case State::serving:
    case State::tunnelling:
      return core_.exchanges->on_client_finished(client->exchange, client->listener->model.half_close);
    case State::multiplexing: {
      const bool busy = client->h2 && client->h2->exchanges > 0;
      return close(handle, busy ? Cause::client_aborted : Cause::client_closed, CloseMode::flush);
    }
    case State::lingering: return close(handle, client->parts_by, CloseMode::flush);
    case State::closed: return;
  }
}

// Behind pipelined requests, or a body that its endpoint does not take: whatever is unread, nobody waits for an answer.
void Clients::on_end_in_sight(Handle handle) {
  ClientConnection* client = connections_.find(handle);
  if (client == nullptr || !client->life.is(State::serving) || client->finished) return;
  if (client->listener->model.half_close || !core_.exchanges->ends_with_client(client->exchange)) return;
  client->finished = true;
  core_.exchanges->on_client_finished(client->exchange, false);
}

void Clients::on_drained(Handle handle) {
  ClientConnection* client = connections_.find(handle);
  if (client == nullptr || client->life.ended()) return;
  if (client->life.is(State::multiplexing)) return core_.h2_clients->on_drained(*client);
  if (client->exchange) return core_.response_path->on_client_drained(client->exchange);
  if (client->life.is(State::idle)) {
    // Replies of TLS itself (to KeyUpdate) leave by the same way and are no work of the client.
    if (std::exchange(client->answer_waits, false)) core_.arm(client->timer, core_.timeouts().client_idle);
    if (std::exchange(client->backed_up, false)) await_request(*client);
  }
  if (client->life.is(State::lingering)) core_.arm(client->timer, linger_time);
}

void Clients::on_failed(Handle handle, const base::Error& error) {
  ClientConnection* client = connections_.find(handle);
  if (client == nullptr || client->life.ended()) return;
  const Handle exchange = client->exchange;
  const bool lingering = client->life.is(State::lingering);
  close(handle, lingering ? client->parts_by : error.cause, CloseMode::drop);
  if (exchange) core_.exchanges->on_client_left(exchange, error.cause);
}

void Clients::on_timer(Handle handle) {
  ClientConnection* client = connections_.find(handle);
  if (client == nullptr || client->life.ended()) return;
  switch (client->life.state()) {
    case State::greeting: {
      const bool hello = client->listener->tls != nullptr && !client->awaits_proxy_header;
      return close(handle, hello ? Cause::client_tls_timeout : Cause::client_head_timeout, CloseMode::drop);
    }
    case State::handshaking: return close(handle, Cause::client_tls_timeout, CloseMode::drop);
    case State::idle: {
      if (still_reads(*client)) return;
      const bool stuck = client->unsent(core_.reactor) > 0;
      return close(handle, stuck ? Cause::client_write_timeout : Cause::client_idle_timeout,
                   stuck ? CloseMode::reset : CloseMode::flush);
    }
    case State::reading: return refuse(*client, Cause::client_head_timeout, "the request head did not arrive in time");
    case State::lingering:
      if (still_reads(*client)) return;
      return close(handle, client->unsent(core_.reactor) > 0 ? Cause::client_write_timeout : client->parts_by,
                   CloseMode::drop);
    case State::multiplexing: return core_.h2_clients->on_timer(*client);
    case State::serving:
    case State::tunnelling:
    case State::closed: return;  // the exchange has the deadline
  }
}

void Clients::queue(ClientConnection& client) {
  if (client.queued) return;
  client.queued = true;
  queued_.push_back(client.self);
}

void Clients::read_queued() {
  while (!queued_.empty()) {
    std::vector<Handle> turn;
    turn.swap(queued_);
    for (const Handle handle : turn) {
      ClientConnection* client = connections_.find(handle);
      if (client == nullptr) continue;
      client->queued = false;
      // Bytes that came later in this round may have completed its requests. Where its answers wait for their reader,
      // on_drained() queues it again.
      if (!client->life.is(State::idle) || client->input.empty() || client->backed_up) continue;
      core_.reactor.receive(client->socket, Receive::watchful);
      read_head(*client);
      if (client->finished && client->life.is(State::reading)) close(handle, Cause::client_aborted, CloseMode::flush);
    }
  }
}

void Clients::close_idle(Cause cause) {
  std::vector<Handle> idle;
  connections_.for_each([&idle](Handle handle, ClientConnection& client) {
    if (client.life.is(State::idle) && client.input.empty()) idle.push_back(handle);
  });
  for (const Handle handle : idle) close(handle, cause, CloseMode::flush);
  core_.h2_clients->go_away(cause);
}

void Clients::close_all(Cause cause) {
  std::vector<Handle> all;
  connections_.for_each([&all](Handle handle, ClientConnection&) { all.push_back(handle); });
  for (const Handle handle : all) {
    const ClientConnection* client = connections_.find(handle);
    if (client == nullptr) continue;
    const Handle exchange = client->exchange;
    close(handle, cause, CloseMode::drop);
    if (exchange) core_.exchanges->on_client_left(exchange, cause);
  }
}

// By a reset: no client may take what it has for a whole answer.
bool Clients::end(Handle handle, Cause cause) {
  const ClientConnection* client = connections_.find(handle);
  if (client == nullptr || client->life.ended()) return false;
  const Handle exchange = client->exchange;
  close(handle, cause, CloseMode::reset);
  if (exchange) core_.exchanges->on_client_left(exchange, cause);
  return true;
}

bool Clients::end_broken() {
  const std::vector<Handle> all = broken_.take();
  for (const Handle handle : all) end(handle, Cause::internal);
  return core_.h2_clients->end_broken() || !all.empty();
}

void Clients::bury() {
  for (const Handle handle : dead_) {
    const ClientConnection* client = connections_.find(handle);
    EBB_ASSERT(client != nullptr && client->life.ended());
    EBB_ASSERT(!client->timer.armed() && client->input.empty() && client->waiting == nullptr);
    EBB_ASSERT(client->h2 == nullptr || client->h2->streams.empty());
    connections_.erase(handle);
  }
  dead_.clear();
}

void Clients::count_states(observe::ConnectionStates& states) {
  static_assert(std::size(lifecycle::ClientConnectionLife::state_names) <=
                std::tuple_size_v<observe::ConnectionStates>);
  connections_.for_each([&states](Handle, ClientConnection& client) {
    if (!client.life.ended()) states[static_cast<std::size_t>(client.life.state())] += 1;
  });
}

}  // namespace ebb::gate
