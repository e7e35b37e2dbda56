#include "gate/exchanges.h"

#include <algorithm>

#include "base/stable_hash.h"
#include "gate/backends.h"
#include "gate/balance.h"
#include "gate/h2_backends.h"
#include "gate/head_fields.h"
#include "gate/health.h"
#include "gate/mirrors.h"
#include "gate/own_answer.h"
#include "gate/witnesses.h"
#include "routes/path_choice.h"
#include "wire/proxy_protocol.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using lifecycle::Delivery;
using lifecycle::RetryVerdict;
using reactor::Receive;

Exchange* Exchanges::live(Handle handle) {
  Exchange* exchange = exchanges_.find(handle);
  return exchange == nullptr || exchange->life.ended() ? nullptr : exchange;
}

void Exchanges::step(Exchange& exchange, Event event) {
  if (!exchange.life.step(event)) broken_.add(core_, exchange.self);
}

bool Exchanges::unattended(const Exchange& exchange) const {
  return exchange.front == core_.mirrors || exchange.front == core_.witnesses;
}

namespace {

// No answer to the first SYN: the second goes out after 1 s, so that waiting for it is waiting for long.
constexpr base::Duration patience_to_connect = std::chrono::milliseconds{250};

// The texts of the access log, kept in one string because the head's bytes are gone when the line is written.
void keep_text(Exchange& exchange, const wire::RequestHead& head) {
  const wire::Field* referer = head.fields.find(wire::FieldId::referer);
  const wire::Field* agent = head.fields.find(wire::FieldId::user_agent);
  const std::string_view parts[] = {head.method_text, head.authority, head.target,
                                    referer == nullptr ? std::string_view() : referer->value,
                                    agent == nullptr ? std::string_view() : agent->value};
  for (std::size_t i = 0; i < std::size(parts); ++i) {
    exchange.text.append(parts[i]);
    exchange.text_ends[i] = static_cast<std::uint32_t>(exchange.text.size());
  }
}

std::string_view text_part(const Exchange& exchange, std::size_t index) {
  const std::uint32_t begin = index == 0 ? 0 : exchange.text_ends[index - 1];
  return std::string_view(exchange.text).substr(begin, exchange.text_ends[index] - begin);
}

void tally(EndpointTally& counts, const Exchange& exchange, Cause cause) {
  counts.requests += 1;
  counts.bytes_in += exchange.response_sent;
  counts.bytes_out += exchange.request_bytes;
  if (base::facts(cause).fault == base::Side::backend) counts.failures += 1;
  const std::size_t status_class = exchange.status / 100;
  if (status_class < std::size(counts.by_class)) counts.by_class[status_class] += 1;
}

// What the access log calls the protocol of a tunnel that was one from the start.
std::string_view name_of_bytes(const Exchange& exchange) { return exchange.route != nullptr ? "TLS" : "TCP"; }

// What a connection that was not understood yet was to be.
std::string_view name_of_greeting(const ClientConnection& client) {
  switch (client.listener->model.protocol) {
    case routes::Protocol::https:
    case routes::Protocol::tls_passthrough: return "TLS";
    case routes::Protocol::tcp: return "TCP";
    case routes::Protocol::udp: return "UDP";
    case routes::Protocol::http: break;
  }
  return client.protocol();
}

Handle bound_to(const Exchange& exchange) {
  return exchange.applied != nullptr && exchange.applied->sticky ? exchange.applied->sticky->bound : Handle{};
}

// Of a CORS preflight: the method of the request that is to come, whose route answers for it (Fetch, section 4.8).
std::optional<std::string_view> preflighted_method(const wire::RequestHead& head) {
  if (head.method != wire::Method::options || head.fields.find("origin") == nullptr) return std::nullopt;
  const wire::Field* method = head.fields.find("access-control-request-method");
  return method == nullptr ? std::nullopt : std::optional(method->value);
}

// Requests that take about as long as each other, as far as can be told from outside: the route, the method and the
// first part of the path; of gRPC the whole path, which is the name of a method. Not the query: it is another one each
// time, and nothing would be known of any.
lifecycle::RequestKind kind_of(const routes::Route* route, const wire::RequestHead& head, bool grpc) {
  const std::size_t end = head.path.find_first_of(grpc ? "?" : "/?", 1);
  base::StableHash hash;
  hash.add(head.method_text).add(head.path.substr(0, std::min<std::size_t>(end, 64)));
  return (hash.value() ^ (route == nullptr ? 0 : route->label)) * 0x9e3779b97f4a7c15u;
}

bool is_grpc(const wire::Fields& fields) {
  const wire::Field* type = fields.find("content-type");
  return type != nullptr && type->value.starts_with("application/grpc");
}

}  // namespace

Exchange& Exchanges::add(Front& front, Handle client, const SnapshotRef& snapshot) {
  const Handle self = exchanges_.emplace();
  Exchange& exchange = *exchanges_.find(self);
  exchange.self = self;
  exchange.front = &front;
  exchange.client = client;
  exchange.timer.set_owner({owner_exchange, self});
  exchange.snapshot = snapshot;
  exchange.started = exchange.handed_over = exchange.first_byte = core_.reactor.now();
  return exchange;
}

// The head with the path that was matched, which is the one that goes on.
const wire::RequestHead& Exchanges::find_route(Exchange& exchange, const ClientConnection& client,
                                               const wire::RequestHead& head) {
  const routes::Snapshot& snapshot = core_.current->snapshot();
  const routes::ListenerModel& listener = client.listener->model;
  const HeadFields fields(head.fields);
  routes::RequestFacts facts{head.method_text, head.authority, head.path, listener.name, &fields};
  routes::PathChoice choice;
  if (const auto asked_for = preflighted_method(head)) {
    facts.method = *asked_for;
    choice = routes::choose_path(snapshot, facts, listener.paths, path_text_);
    facts.method = head.method_text;
  }
  const bool answered = choice.route != nullptr && choice.route->policy != nullptr && choice.route->policy->cors;
  if (!answered) choice = routes::choose_path(snapshot, facts, listener.paths, path_text_);
  if (choice.ambiguous) {
    refuse(exchange, Cause::client_path_ambiguous);
    return head;
  }
  exchange.route = choice.route;
  if (choice.path.data() == head.path.data()) return head;
  wire::RequestHead& changed = core_.request;
  if (&changed != &head) changed = head;
  changed.path = choice.path;
  return changed;
}

Handle Exchanges::begin(Front& front, Handle client_end, const wire::RequestHead& received) {
  const ClientConnection& client = *front.connection(client_end);
  Exchange& exchange = add(front, client_end, core_.current);
  const wire::RequestHead& head = find_route(exchange, client, received);
  exchange.method = head.method;
  exchange.upgrade_asked = !head.upgrade.empty();
  if (exchange.upgrade_asked) exchange.upgrade_offer = head.upgrade;
  exchange.websocket_asked = exchange.upgrade_asked && wire::equals_ignoring_case(head.upgrade, "websocket");
  exchange.grpc = head.method == wire::Method::post && is_grpc(head.fields);
  exchange.kind = kind_of(exchange.route, head, exchange.grpc);
  exchange.framing = head.framing;
  exchange.request_whole =
      head.framing == wire::Framing::none || (head.framing == wire::Framing::length && head.content_length == 0);
  if (core_.log_format != observe::LogFormat::off) {
    exchange.started_wall = core_.reactor.clock().wall();
    keep_text(exchange, head);
  }
  prepare(exchange, client, head);
  return exchange.self;
}

Handle Exchanges::begin_bytes(Front& front, Handle client, const routes::Route* route, std::uint32_t backend,
                              std::string_view server_name) {
  Exchange& exchange = add(front, client, core_.current);
  exchange.route = route;
  exchange.backend_index = backend;
  exchange.bytes_only = true;
  if (core_.log_format != observe::LogFormat::off) {
    exchange.started_wall = core_.reactor.clock().wall();
    exchange.text = server_name;
    std::fill(std::begin(exchange.text_ends) + 1, std::end(exchange.text_ends),
              static_cast<std::uint32_t>(server_name.size()));  // it stands for the authority
  }
  if (route != nullptr) prepare_bytes(exchange, front.connection(client)->peer);
  note_source(exchange, front.connection(client)->peer);
  return exchange.self;
}

void Exchanges::start(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  if (exchange->refusal != Cause::completed) return fail(*exchange, Event::failed, exchange->refusal);
  if (decided(*exchange)) return answer_here(*exchange);
  choose(*exchange);
  exchange = live(handle);
  if (exchange != nullptr) send_mirrors(*exchange);
}

// An endpoint, then a connection to it: from its pool, or a new one. A loop, because a connection attempt may fail at
// once and another endpoint be asked.
void Exchanges::choose(Exchange& exchange) {
  const routes::Backend& backend = exchange.snapshot->snapshot().backends()[exchange.backend_index];
  BackendView& view = view_of(exchange);
  bool overtaken = false;
  for (;;) {
    Claim claim{.tried = exchange.tried, .key = exchange.hash_key, .bound = bound_to(exchange)};
    Handle chosen = overtaken ? Handle{} : trial_for(exchange, static_cast<bool>(claim.bound));
    if (!chosen) chosen = choose_endpoint(core_, view, backend.model, claim);
    // One that broke off is asked again, by a fresh connection, when there is no other; one that cannot be reached not,
    // nor one whose time is over.
    const bool not_again =
        lifecycle::unreachable(exchange.last_failure) || exchange.last_failure == Cause::drain_deadline;
    if (!chosen && !exchange.tried.empty() && !not_again) {
      const bool spent = std::uint32_t{exchange.tries} - exchange.unreached > retries(exchange);
      if (spent) return fail(exchange, Event::failed, exchange.last_failure);
      claim.tried = {};
      chosen = choose_endpoint(core_, view, backend.model, claim);
      exchange.fresh_only = true;
    }
    EndpointState* endpoint = core_.endpoints->find(chosen);
    if (endpoint == nullptr) return hold(exchange);
    if (!core_.endpoints->attach(*endpoint)) {
      overtaken = true;  // it is full now, and so is not chosen again
      exchange.on_trial = false;
      continue;
    }
    if (exchange.tries == 0) view.retry_budget.began(core_.reactor.now());
    exchange.tries += 1;
    exchange.endpoint = chosen;
    begin_try(exchange);
    Back& back = back_for(backend.model, *endpoint, exchange.bytes_only);
    const bool shares = !exchange.bytes_only && backend.model.proxy_protocol == routes::ProxyProtocol::off;
    if (!exchange.fresh_only && shares) {
      const Handle pooled = back.lease(*endpoint, exchange.self, !wire::idempotent(exchange.method));
      if (pooled) return attach(exchange, back, pooled);
    }
    const auto opened =
        back.open(chosen, exchange.self,
                  {backend.model, tls_for(exchange), proxy_header(exchange, backend.model.proxy_protocol),
                   exchange.snapshot->manners[exchange.backend_index]});
    if (opened) {
      step(exchange, Event::connect);
      exchange.back = &back;
      exchange.backend = *opened;
      // The rest of the body waits in the kernel until there is a connection.
      if (!exchange.request_whole) exchange.front->receive(exchange.client, Receive::paused);
      exchange.move_on = core_.reactor.now() + patience_to_connect;
      return arm_for_deadline(exchange);
    }
    core_.health->connect_failed(*endpoint, opened.error().cause);
    endpoint->tally.connect_failures += 1;
    detach_endpoint(exchange);
    exchange.tried.push_back(chosen);
    exchange.last_failure = opened.error().cause;
    const bool hopeless = exchange.last_failure == Cause::resource_limit || retries(exchange) == 0;
    if (hopeless) return fail(exchange, Event::failed, exchange.last_failure);
    // A fault of our own (no socket of that family, a filter of system calls) is a try: it would come again, for ever.
    if (lifecycle::unreachable(exchange.last_failure)) exchange.unreached += 1;
    core_.counters.retries[static_cast<std::size_t>(exchange.last_failure)] += 1;
  }
}

// TLS that is passed through is the client's own.
std::shared_ptr<const wire::ClientContext> Exchanges::tls_for(const Exchange& exchange) const {
  const bool passed_through = exchange.route != nullptr && exchange.route->model.tls == routes::TlsMode::passthrough;
  return passed_through ? nullptr : exchange.snapshot->backend_tls(exchange.backend_index);
}

base::Slice Exchanges::proxy_header(const Exchange& exchange, routes::ProxyProtocol version) {
  if (version == routes::ProxyProtocol::off) return {};
  wire::ProxyHeader header;
  // A mirror has no client: its connection is the router's own.
  if (const ClientConnection* client = exchange.front->connection(exchange.client); client != nullptr) {
    const base::Address destination =
        client->destination ? *client->destination : core_.reactor.local_address(client->socket);
    if (destination.valid()) header = {.source = client->peer, .destination = destination};
  }
  return wire::write_proxy_header(
      core_.reactor.blocks(), version == routes::ProxyProtocol::v1 ? wire::ProxyVersion::v1 : wire::ProxyVersion::v2,
      header);
}

// `auto` begins with a connection of its own, whose handshake tells what the endpoint speaks; later ones know.
Back& Exchanges::back_for(const routes::BackendModel& model, const EndpointState& endpoint, bool bytes_only) {
  if (bytes_only) return *core_.backends;
  switch (model.protocol) {
    case routes::BackendProtocol::http1: return *core_.backends;
    case routes::BackendProtocol::h2c:
    case routes::BackendProtocol::h2: return *core_.h2_backends;
    case routes::BackendProtocol::automatic: break;
  }
  if (endpoint.speaks_h2) return *core_.h2_backends;
  return *core_.backends;
}

void Exchanges::on_leased(Handle handle, Back& back, Handle backend) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return back.cancel(backend, Cause::cancelled);
  attach(*exchange, back, backend);
}

void Exchanges::on_moved(Handle handle, Back& back, Handle backend) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return back.cancel(backend, Cause::cancelled);
  exchange->back = &back;
  exchange->backend = backend;
}

// The endpoint is well, only its connection takes no more: not a try that failed.
void Exchanges::on_backend_full(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  exchange->backend = {};
  exchange->tries -= 1;
  detach_endpoint(*exchange);
  step(*exchange, Event::retry);
  choose(*exchange);
}

void Exchanges::attach(Exchange& exchange, Back& back, Handle backend) {
  exchange.back = &back;
  exchange.backend = backend;
  exchange.reused = back.reused(backend);
  exchange.handed_over = core_.reactor.now();
  if (exchange.bytes_only) return become_tunnel(exchange, Event::opened);
  step(exchange, Event::lease);
  send_request(exchange);
}

void Exchanges::detach_endpoint(Exchange& exchange) {
  const Handle handle = std::exchange(exchange.endpoint, {});
  if (!handle) return;
  exchange.last_endpoint = handle;
  EndpointState* endpoint = core_.endpoints->find(handle);
  // gate/health only looks now and then.
  if (endpoint != nullptr) endpoint->heard = std::max(endpoint->heard, exchange.heard);
  if (exchange.front == core_.witnesses) return core_.endpoints->detach_witness(handle);
  core_.endpoints->detach(handle);
}

void Exchanges::on_backend_failed(Handle handle, Cause cause, Delivery delivery) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  exchange->backend = {};
  if (exchange->life.is(State::tunnelling)) return close_tunnel(*exchange, cause);
  if (response_has_begun(*exchange)) return cut_short(*exchange, cause);
  retry_or_fail(*exchange, cause, delivery);
}

// No final response has begun. The backend connection is closed.
void Exchanges::retry_or_fail(Exchange& exchange, Cause cause, Delivery delivery) {
  const bool was_sent = !exchange.life.is(State::connecting);
  if (!was_sent && lifecycle::unreachable(cause)) exchange.unreached += 1;
  // The excuse of a reused connection is that the endpoint closed it while we wrote; silence is no close.
  const bool silence = cause == Cause::try_timeout || cause == Cause::backend_ping_timeout ||
                       cause == Cause::backend_dead || cause == Cause::backend_silent || cause == Cause::drain_deadline;
  if (cause == Cause::try_timeout) note_given_up(exchange);
  exchange.compared = {};
  // A witness has told of silence already, and that is what a restart ends.
  const bool broke_off =
      (cause == Cause::backend_reset || cause == Cause::backend_closed) && exchange.front != core_.witnesses;
  if (EndpointState* endpoint = core_.endpoints->find(exchange.endpoint);
      endpoint != nullptr && was_sent && broke_off && !exchange.reused && !exchange.response_bytes) {
    core_.health->broke_off(*endpoint, exchange.kind, key_of(exchange), cause);
  }
  const lifecycle::RetryFacts facts{.response_begun = exchange.response_bytes,
                                    .request_sent = was_sent,
                                    .idempotent = wire::idempotent(exchange.method),
                                    .delivery = delivery,
                                    .connection_reused = exchange.reused && !silence,
                                    .body_replayable = exchange.replayable,
                                    .tries = std::uint32_t{exchange.tries} - exchange.unreached,
                                    .tries_max = retries(exchange) + 1};
  const RetryVerdict verdict = lifecycle::may_retry(facts);
  if (verdict == RetryVerdict::no) return fail(exchange, Event::failed, cause);
  if (lifecycle::needs_budget(facts) && !view_of(exchange).retry_budget.take(core_.reactor.now())) {
    core_.counters.retries_refused += 1;
    return fail(exchange, Event::failed, cause);
  }
  core_.counters.retries[static_cast<std::size_t>(cause)] += 1;
  if (EndpointState* endpoint = core_.endpoints->find(exchange.endpoint); endpoint != nullptr) {
    endpoint->tally.retries += 1;
    if (!was_sent) endpoint->tally.connect_failures += 1;
  }
  if (verdict == RetryVerdict::another_endpoint) exchange.tried.push_back(exchange.endpoint);
  exchange.last_failure = cause;
  exchange.fresh_only = exchange.fresh_only || verdict == RetryVerdict::fresh_connection;
  detach_endpoint(exchange);
  exchange.timer.disarm();
  Chain again = std::move(exchange.kept);
  again.push(std::move(exchange.body));
  exchange.body = std::move(again);
  exchange.head_sent = exchange.end_sent = false;
  step(exchange, Event::retry);
  choose(exchange);
}

bool Exchanges::response_has_begun(const Exchange& exchange) const {
  return exchange.life.is(State::crossing) || exchange.life.is(State::downloading);
}

// The exchange ends without a response from the endpoint that could be passed on.
void Exchanges::fail(Exchange& exchange, Event event, Cause cause) {
  if (response_has_begun(exchange)) return cut_short(exchange, cause);
  if (event == Event::deadline) note_given_up(exchange);
  if (exchange.life.is(State::held)) leave_queue(exchange);
  if (exchange.backend) exchange.back->cancel(exchange.backend, cause);
  exchange.backend = {};
  answer(exchange, cause);
  step(exchange, event);
  end(exchange, cause);
}

void Exchanges::answer(Exchange& exchange, Cause cause) {
  if (exchange.front->connection(exchange.client) == nullptr) return;
  const int status = base::facts(cause).status;
  if (status == 0 || exchange.bytes_only) return exchange.front->cut(exchange.client, cause);
  exchange.status = static_cast<std::uint16_t>(status);
  OwnAnswer own = own_answer(cause, exchange.method, exchange.request_whole);
  own.grpc = exchange.grpc;
  if (exchange.applied != nullptr) {
    own.retry_after = exchange.applied->retry_after;
    own.changes = &exchange.applied->response;
  }
  if (exchange.route != nullptr && exchange.route->policy != nullptr) {
    own.body = routes::error_body(exchange.route->policy->model.errors, exchange.status);
  }
  exchange.own_bytes = exchange.front->answer(exchange.client, own);
}

void Exchanges::on_client_left(Handle handle, Cause cause) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  if (exchange->front != core_.witnesses) note_given_up(*exchange);  // we end those, not the endpoint's slowness
  if (exchange->life.is(State::held)) leave_queue(*exchange);
  if (exchange->backend) exchange->back->cancel(exchange->backend, cause);
  exchange->backend = {};
  step(*exchange, Event::client_left);
  end(*exchange, cause);
}

bool Exchanges::ends_with_client(Handle handle) {
  const Exchange* exchange = live(handle);
  return exchange != nullptr && !may_wait_half_closed(*exchange) && !exchange->life.is(State::tunnelling);
}

// A client of plain TCP may have sent all that it has. One of TLS that is passed through has to say more before its
// endpoint can answer.
bool Exchanges::may_wait_half_closed(const Exchange& exchange) const {
  return exchange.bytes_only &&
         (exchange.route == nullptr || exchange.route->model.tls != routes::TlsMode::passthrough);
}

void Exchanges::on_client_finished(Handle handle, bool half_closes) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  if (exchange->life.is(State::tunnelling)) return tunnel_finished(*exchange, owner_client);
  if (may_wait_half_closed(*exchange)) return;  // the tunnel will pass it on
  // A half-close after a whole request is legal, but those who do it are few, and those who leave are many.
  if (half_closes && exchange->request_whole) return;
  Front& front = *exchange->front;
  const Handle client = exchange->client;
  on_client_left(handle, Cause::client_aborted);
  front.cut(client, Cause::client_aborted);
}

void Exchanges::end(Exchange& exchange, Cause cause) {
  const ClientConnection* client = exchange.front->connection(exchange.client);
  if (client != nullptr) record(exchange, *client, cause);
  if (exchange.front == core_.mirrors) mirror_ended(cause);
  if (exchange.front == core_.witnesses) core_.witnesses->forget(exchange.self);
  detach_endpoint(exchange);
  exchange.timer.disarm();
  exchange.body.clear();
  exchange.kept.clear();
  exchange.to_client.clear();
  if (compresses(exchange)) end_compression(exchange);
  exchange.applied.reset();
  dead_.push_back(exchange.self);
}

void Exchanges::record(const Exchange& exchange, const ClientConnection& client, Cause cause) {
  EndpointState* endpoint = core_.endpoints->find(exchange.endpoint);
  const base::Instant now = core_.reactor.now();
  observe::ExchangeRecord record;
  record.listener = client.listener->label;
  if (exchange.route != nullptr) record.route = exchange.route->label;
  if (exchange.backend_index != routes::no_backend) {
    record.backend = exchange.snapshot->snapshot().backends()[exchange.backend_index].label;
  }
  if (endpoint != nullptr) {
    tally(endpoint->tally, exchange, cause);
    record.endpoint = endpoint->label;
    record.endpoint_address = endpoint->address;
  }
  record.status = exchange.status;
  record.tries = exchange.tries;
  record.reused = exchange.reused;
  record.cause = cause;
  record.bytes_received = exchange.request_bytes;
  record.bytes_sent = exchange.response_sent + exchange.own_bytes;
  record.until_backend = exchange.handed_over - exchange.started;
  record.until_response = exchange.first_byte - exchange.started;
  record.total = now - exchange.started;
  core_.counters.record(record);
  if (core_.access_log == nullptr || core_.log_format == observe::LogFormat::off) return;

  if (endpoint == nullptr) {
    if (const EndpointState* last = core_.endpoints->find(exchange.last_endpoint)) {
      record.endpoint = last->label;
      record.endpoint_address = last->address;
      record.until_backend = base::Duration{-1};  // it got nothing: no connection to it came about
    }
  }
  record.client = client.peer;
  record.method = text_part(exchange, 0);
  record.authority = text_part(exchange, 1);
  record.target = text_part(exchange, 2);
  record.referer = text_part(exchange, 3);
  record.user_agent = text_part(exchange, 4);
  record.protocol = exchange.bytes_only ? name_of_bytes(exchange) : client.protocol();
  if (client.secure != nullptr) record.tls = client.secure->session.protocol();
  record.started = exchange.started_wall;
  log(record);
}

void Exchanges::log(const observe::ExchangeRecord& record) {
  observe::format_record(record, core_.log_format, core_.labels, core_.log_line);
  if (!core_.access_log->push(core_.log_line)) core_.counters.log_lines_dropped += 1;
}

void Exchanges::log_failed_handshake(const ClientConnection& client, Cause cause, std::string_view server_name) {
  if (core_.access_log == nullptr || core_.log_format == observe::LogFormat::off) return;
  observe::ExchangeRecord record;
  record.listener = client.listener->label;
  record.client = client.peer;
  record.authority = server_name;
  record.protocol = client.awaits_proxy_header ? "PROXY" : name_of_greeting(client);
  if (client.secure != nullptr) record.tls = client.secure->session.protocol();
  record.cause = cause;
  record.total = core_.reactor.now() - client.opened;
  record.started = core_.reactor.clock().wall() - std::chrono::duration_cast<base::WallTime::duration>(record.total);
  log(record);
}

void Exchanges::record_refusal(const ClientConnection& client, Cause cause, const wire::RequestHead* head,
                               std::size_t sent) {
  Exchange refused;
  if (head != nullptr) keep_text(refused, *head);
  refused.started = refused.handed_over = refused.first_byte = core_.reactor.now();
  refused.started_wall = core_.reactor.clock().wall();
  refused.status = static_cast<std::uint16_t>(base::facts(cause).status);
  refused.own_bytes = sent;
  record(refused, client, cause);
}

// Who is waited for is seen from where bytes are stuck: a side with unsent output is the one that does not read. It has
// its time since it last took a byte; more that is put behind what waits for it does not give it more.
Exchanges::Patience Exchanges::patience(const Exchange& exchange) const {
  const ProgressLimits limits = progress_limits(exchange);
  const base::Backlog to_client = exchange.front->backlog(exchange.client);
  const base::Backlog to_backend = exchange.backend ? exchange.back->backlog(exchange.backend) : base::Backlog{};
  switch (exchange.life.state()) {
    case State::uploading:
      if (to_backend.bytes > 0) return {response_timeout(exchange), Cause::backend_write_timeout, to_backend.moved};
      return {limits.client_body, Cause::client_body_timeout, exchange.moved};
    case State::awaiting:
      return {response_timeout(exchange), Cause::backend_response_timeout, std::max(exchange.asked, to_backend.moved)};
    case State::crossing:
    case State::downloading:
      if (to_client.bytes > 0) {
        return {exchange.snapshot->model().timeouts.client_write, Cause::client_write_timeout, to_client.moved};
      }
      return {limits.backend_body, Cause::backend_body_timeout, std::max(exchange.moved, to_backend.moved)};
    case State::tunnelling:
      return {limits.tunnel_idle, Cause::tunnel_idle_timeout,
              std::max({exchange.moved, to_client.moved, to_backend.moved})};
    case State::choosing:
    case State::held:        // hold_expired()
    case State::connecting:  // the connection has the deadline
    case State::ended: break;
  }
  return {{}, Cause::internal, core_.reactor.now()};
}

// Something has moved: the deadline of what is awaited next begins.
void Exchanges::arm_for_state(Exchange& exchange) {
  exchange.moved = core_.reactor.now();
  core_.reactor.timers().arm(exchange.timer, std::min({patience(exchange).end(), exchange.deadline,
                                                       exchange.try_deadline, exchange.trial_until}));
}

void Exchanges::on_timer(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr || end_if_overdue(*exchange)) return;
  if (exchange->life.is(State::connecting)) return move_on(*exchange);
  if (exchange->life.is(State::held)) return hold_expired(*exchange);
  const Patience waited = patience(*exchange);
  if (core_.reactor.now() < waited.end()) {  // a slow reader, but one that reads
    return core_.reactor.timers().arm(
        exchange->timer, std::min({waited.end(), exchange->deadline, exchange->try_deadline, exchange->trial_until}));
  }
  if (exchange->life.is(State::tunnelling)) return close_tunnel(*exchange, waited.cause);
  fail(*exchange, Event::deadline, waited.cause);
}

std::uint32_t Exchanges::end_of_endpoint(Handle endpoint, Cause cause) {
  const EndpointState* state = core_.endpoints->find(endpoint);
  const bool silent = state != nullptr && state->doubt != lifecycle::Doubt::none && cause == Cause::drain_deadline;
  std::uint32_t cut = 0;
  std::vector<Handle> all;
  exchanges_.for_each([&all, endpoint](Handle handle, const Exchange& exchange) {
    if (exchange.endpoint == endpoint && !exchange.life.ended()) all.push_back(handle);
  });
  for (const Handle handle : all) {
    Exchange* exchange = live(handle);
    if (exchange == nullptr) continue;
    // Nothing of it was sent, or the endpoint is doubted and has not answered: another may take it.
    const bool unheard = silent && waits_for_answer(*exchange) && could_serve(*exchange, endpoint);
    if (exchange->life.is(State::connecting) || unheard) {
      exchange->back->cancel(std::exchange(exchange->backend, {}), cause);
      retry_or_fail(*exchange, cause, Delivery::unknown);
      cut += unheard && live(handle) == nullptr ? 1 : 0;
      continue;
    }
    cut += 1;
    if (!exchange->life.is(State::tunnelling)) {
      fail(*exchange, Event::failed, cause);
      continue;
    }
    say_goodbye(*exchange);
    if (live(handle) != nullptr) close_tunnel(*exchange, cause);
  }
  return cut;
}

// As if the client had left; then it is told.
bool Exchanges::end_broken() {
  const std::vector<Handle> all = broken_.take();
  for (const Handle handle : all) {
    const Exchange* exchange = live(handle);
    if (exchange == nullptr) continue;
    Front& front = *exchange->front;
    const Handle client = exchange->client;
    on_client_left(handle, Cause::internal);
    front.cut(client, Cause::internal);
  }
  return !all.empty();
}

void Exchanges::bury() {
  for (const Handle handle : dead_) exchanges_.erase(handle);
  dead_.clear();
}

}  // namespace ebb::gate
