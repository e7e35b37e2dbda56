#include "gate/intake.h"

#include <algorithm>

#include "base/stable_hash.h"
#include "gate/attempts.h"
#include "gate/bonds.h"
#include "gate/clients.h"
#include "gate/exchanges.h"
#include "gate/head_fields.h"
#include "gate/mirrors.h"
#include "gate/records.h"
#include "gate/request_head.h"
#include "routes/path_choice.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;

namespace {

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

// Whether it matters which hops the request has passed or may pass: a loop shows in Via, where that is written;
// Max-Forwards counts for two methods.
bool hops_matter(const Exchange& exchange, wire::Method method) {
  return method == wire::Method::options || method == wire::Method::trace || !exchange.snapshot->model().via.empty();
}

Wants wants_of(const wire::RequestHead& head) {
  if (head.upgrade.empty()) return Wants::response;
  return wire::equals_ignoring_case(head.upgrade, "websocket") ? Wants::websocket : Wants::upgrade;
}

}  // namespace

Handle Intake::begin(Front& front, Handle end, const ClientConnection& client, const wire::RequestHead& received) {
  Exchange& exchange = core_.exchanges->add(front, end, core_.current);
  core_.records->begun(exchange, received);
  const wire::RequestHead& head = find_route(exchange, client, received);
  Request& request = exchange.request;
  request.method = head.method;
  request.wants = wants_of(head);
  if (request.upgrades()) request.upgrade_offer = head.upgrade;
  request.grpc = head.method == wire::Method::post && is_grpc(head.fields);
  request.kind = kind_of(exchange.route, head, request.grpc);
  request.framing = head.framing;
  const bool bodiless =
      head.framing == wire::Framing::none || (head.framing == wire::Framing::length && head.content_length == 0);
  if (bodiless) core_.exchanges->step(exchange, request.life, lifecycle::RequestHalfLife::Event::whole);
  prepare(exchange, client, head);
  return exchange.self;
}

// The head with the path that was matched, which is the one that goes on.
const wire::RequestHead& Intake::find_route(Exchange& exchange, const ClientConnection& client,
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
    exchange.refuse(Cause::client_path_ambiguous);
    return head;
  }
  exchange.route = choice.route;
  if (choice.path.data() == head.path.data()) return head;
  wire::RequestHead& changed = core_.request;
  if (&changed != &head) changed = head;
  changed.path = choice.path;
  return changed;
}

// The route is known; nothing was sent yet.
void Intake::prepare(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head) {
  if (exchange.route == nullptr) return exchange.refuse(Cause::route_not_found);
  const routes::Route& route = *exchange.route;
  const routes::FieldEdits* edits = nullptr;
  exchange.backend_index = route.backend;
  if (route.policy != nullptr) {
    edits = &route.policy->request;
    admission_.apply_policy(exchange, client, head);
  }
  std::optional<std::uint64_t> forwards;
  if (hops_matter(exchange, head.method)) forwards = admission_.limit_hops(exchange, head);
  if (route.shares != nullptr) edits = admission_.choose_share(exchange, &head);
  if (exchange.request.grpc || !exchange.request.whole()) admission_.limit_request(exchange, head);
  if (exchange.decided()) return;
  std::string cookies;
  const wire::RequestHead* shown = &head;
  if (route.shares != nullptr || exchange.backend().binds) {
    core_.bonds->note(exchange, client, head);
    shown = &core_.bonds->without_our_cookies(exchange, head, cookies);
  }
  std::string forwards_text;
  if (forwards) shown = &with_forwards(core_, *shown, *forwards - 1, forwards_text);
  if (!write_head(core_, exchange, client, *shown, edits)) return exchange.refuse(Cause::client_head_too_large);
  if (route.policy != nullptr) core_.mirrors->choose(exchange, head);
}

Handle Intake::begin_bytes(Front& front, Handle client, const routes::Route* route, std::uint32_t backend,
                           std::string_view server_name) {
  Exchange& exchange = core_.exchanges->add(front, client, core_.current);
  exchange.route = route;
  exchange.backend_index = backend;
  exchange.request.wants = Wants::bytes;
  core_.records->begun_bytes(exchange, server_name);
  const base::Address& peer = front.connection(client)->peer;
  if (route != nullptr) admission_.admit_bytes(exchange, peer);
  core_.bonds->note_source(exchange, peer);
  return exchange.self;
}

void Intake::start(Handle handle) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr) return;
  if (exchange->decided()) return core_.exchanges->finish(*exchange, exchange->refusal.value_or(Cause::completed));
  core_.attempts->begin(*exchange);
  exchange = core_.exchanges->live(handle);
  if (exchange != nullptr && exchange->mirrored()) core_.mirrors->send(*exchange);
}

}  // namespace ebb::gate
