// What a route asks for besides sending: whether the request may pass, whether it is answered here, what the endpoint
// sees of it. The decisions are those of routes/; here they meet exchanges. A route that asks for nothing costs a look
// at two null pointers.
//
// Before: gate/exchanges (begin). Next: gate/exchanges (choose).
#include <algorithm>
#include <utility>

#include "gate/compression.h"
#include "gate/exchanges.h"
#include "gate/grpc_timeout.h"
#include "gate/head_fields.h"
#include "gate/hops.h"
#include "routes/client_address.h"
#include "routes/path_change.h"
#include "wire/canary_fields.h"
#include "wire/h1_write.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;

namespace {

constexpr std::size_t rate_slots = std::size_t{1} << 16;
constexpr std::uint16_t no_content = 204;

wire::ForwardingMode mode_of(routes::ForwardedMode mode) {
  switch (mode) {
    case routes::ForwardedMode::append: return wire::ForwardingMode::append;
    case routes::ForwardedMode::replace: return wire::ForwardingMode::replace;
    case routes::ForwardedMode::if_none: return wire::ForwardingMode::if_none;
    case routes::ForwardedMode::never: return wire::ForwardingMode::never;
  }
  return wire::ForwardingMode::append;
}

std::string_view scheme_of(const ClientConnection& client) { return client.secure != nullptr ? "https" : "http"; }

const wire::PeerCertificate* certificate_of(const ClientConnection& client) {
  const bool asked = client.listener->model.client_certificates.mode != routes::ClientCertificates::none;
  return asked && client.secure != nullptr ? client.secure->session.peer_certificate() : nullptr;
}

std::optional<std::string_view> value_of(const wire::Fields& fields, std::string_view name) {
  const wire::Field* field = fields.find(name);
  if (field == nullptr) return std::nullopt;
  return field->value;
}

}  // namespace

// The route is known; nothing was sent yet.
void Exchanges::prepare(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head) {
  if (exchange.route == nullptr) return refuse(exchange, Cause::route_not_found);
  const routes::Route& route = *exchange.route;
  const routes::FieldEdits* edits = nullptr;
  exchange.backend_index = route.backend;
  if (route.policy != nullptr) {
    edits = &route.policy->request;
    apply_policy(exchange, client, head);
  }
  const std::optional<std::uint64_t> forwards = limit_hops(exchange, head);
  if (route.shares != nullptr) edits = choose_share(exchange, &head);
  if (exchange.grpc) note_grpc_timeout(exchange, head);
  const std::uint64_t limit = body_limit(exchange);
  if (limit != 0 && head.framing == wire::Framing::length && head.content_length > limit) {
    refuse(exchange, Cause::client_body_too_large);
  }
  if (decided(exchange)) return;
  std::string cookies;
  const wire::RequestHead* shown = &head;
  if (route.shares != nullptr || exchange.snapshot->snapshot().backends()[exchange.backend_index].binds) {
    note_bond(exchange, client, head);
    shown = &without_our_cookies(exchange, head, cookies);
  }
  std::string forwards_text;
  if (forwards) shown = &with_forwards(*shown, *forwards - 1, forwards_text);
  if (!write_head(exchange, client, *shown, edits)) return refuse(exchange, Cause::client_head_too_large);
  if (route.policy != nullptr) choose_mirrors(exchange, head);
}

// How often OPTIONS and TRACE may still be forwarded; nothing: no limit. At 0 this router is the one that was asked.
std::optional<std::uint64_t> Exchanges::limit_hops(Exchange& exchange, const wire::RequestHead& head) {
  const std::string& via = exchange.snapshot->model().via;
  if (!via.empty() && has_passed(head.fields, via)) refuse(exchange, Cause::forwarding_loop);
  const ForwardsLeft left = forwards_left(head);
  if (!left.valid) refuse(exchange, Cause::client_bad_request);
  if (!left.valid || left.count != 0) return left.valid ? left.count : std::nullopt;
  if (head.method == wire::Method::trace) {
    refuse(exchange, Cause::client_method_refused);  // to say back what others have added is not ours
  } else {
    AppliedPolicy& applied = exchange.apply();
    applied.says_methods = applied.status == 0;
    if (applied.says_methods) applied.status = no_content;
  }
  return std::nullopt;
}

const wire::RequestHead& Exchanges::with_forwards(const wire::RequestHead& head, std::uint64_t left,
                                                  std::string& text) {
  wire::RequestHead& changed = core_.request;
  if (&changed != &head) changed = head;
  text = std::to_string(left);
  for (wire::Field& field : changed.fields.all()) {
    if (field.id == wire::FieldId::max_forwards) field.value = text;
  }
  return changed;
}

// Of TLS that is passed through there is little to ask for: who may come, and where it goes.
void Exchanges::prepare_bytes(Exchange& exchange, const base::Address& client) {
  const routes::Route& route = *exchange.route;
  if (route.policy != nullptr && !route.policy->addresses.admits(client)) {
    refuse(exchange, Cause::client_address_refused);
  }
  if (route.shares != nullptr) choose_share(exchange, nullptr);
}

// Refused, or answered here: nothing is sent to an endpoint.
bool Exchanges::decided(const Exchange& exchange) const {
  return exchange.refusal != Cause::completed || (exchange.applied != nullptr && exchange.applied->status != 0);
}

// The first reason counts.
void Exchanges::refuse(Exchange& exchange, Cause cause) {
  if (exchange.refusal == Cause::completed) exchange.refusal = cause;
}

void Exchanges::apply_policy(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head) {
  const routes::Policy& policy = *exchange.route->policy;
  if (!policy.response.empty()) exchange.apply().response.edits = &policy.response;
  if (client.secure != nullptr && !policy.hsts.empty()) exchange.apply().response.hsts = policy.hsts;
  if (policy.mark != nullptr && head.fields.find(wire::canary_nonce_field.lower) != nullptr) {
    exchange.apply().response.mark = policy.mark;
  }
  if (policy.model.compression && head.method != wire::Method::head) {
    if (const auto coding = agreed_coding(*policy.model.compression, head.fields)) {
      exchange.apply().compression = &*policy.model.compression;
      exchange.apply().coding = *coding;
    }
  }
  if (policy.model.timeouts.request > base::Duration::zero()) {
    exchange.deadline = exchange.started + policy.model.timeouts.request;
  }
  admit(exchange, client, head);
  if (policy.cors && apply_cors(exchange, head)) return;
  if (!policy.model.redirect) return;
  const routes::RequestPlace place{scheme_of(client), head.authority, head.path, client.listener->model.bind.port()};
  AppliedPolicy& applied = exchange.apply();
  applied.status = static_cast<std::uint16_t>(policy.model.redirect->status);
  applied.location = routes::location(*policy.model.redirect, exchange.route->model.path.text, place);
}

// Lists of addresses and rates, for the client behind the proxies that we trust.
void Exchanges::admit(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head) {
  using Hops = routes::ClientAddress::Hops;
  const routes::Policy& policy = *exchange.route->policy;
  const bool has_lists = !policy.addresses.allow.empty() || !policy.addresses.deny.empty();
  if (!has_lists && !policy.model.rate_limit) return;
  const auto [address, hops] =
      routes::client_address(client.peer, HeadFields(head.fields), exchange.snapshot->snapshot().trusted_proxies());
  if (hops == Hops::too_many) return refuse(exchange, Cause::client_too_many_hops);
  // A client whom its proxy hides has none of the addresses that are allowed, and may have one that is denied.
  const bool refused = has_lists && (hops == Hops::hidden || !policy.addresses.admits(address));
  if (refused) return refuse(exchange, Cause::client_address_refused);
  if (!policy.model.rate_limit) return;
  if (core_.rates == nullptr) core_.rates = std::make_unique<routes::RateTable>(rate_slots, core_.random.next());
  const base::Duration wait =
      core_.rates->take(exchange.route->label, address, *policy.model.rate_limit, core_.reactor.now());
  if (wait == base::Duration::zero()) return;
  exchange.apply().retry_after = routes::retry_after_seconds(wait);
  refuse(exchange, Cause::client_rate_limited);
}

// True: a preflight, which is answered here.
bool Exchanges::apply_cors(Exchange& exchange, const wire::RequestHead& head) {
  routes::CorsAnswer answer = exchange.route->policy->cors->answer(
      {.method = head.method_text,
       .origin = value_of(head.fields, "origin"),
       .requested_method = value_of(head.fields, "access-control-request-method"),
       .requested_headers = value_of(head.fields, "access-control-request-headers")});
  AppliedPolicy& applied = exchange.apply();
  applied.response.cors = std::move(answer.response);
  if (answer.preflight) applied.status = no_content;
  return answer.preflight;
}

// The edits of a request that goes to the chosen share; its backend becomes the exchange's. A client that is bound to
// an endpoint of one is not drawn again.
const routes::FieldEdits* Exchanges::choose_share(Exchange& exchange, const wire::RequestHead* head) {
  const std::vector<routes::Share>& shares = *exchange.route->shares;
  std::optional<std::size_t> index;
  if (head != nullptr) index = bound_share(exchange, *head);
  if (!index) index = routes::pick(shares, core_.random.next());
  if (!index) {
    refuse(exchange, Cause::backend_empty);
    return nullptr;
  }
  const routes::Share& share = shares[*index];
  exchange.backend_index = share.backend;
  if (!share.response.empty()) exchange.apply().response.edits = &share.response;
  return &share.request;
}

// A caller that waits no longer needs no answer: its deadline is ours.
void Exchanges::note_grpc_timeout(Exchange& exchange, const wire::RequestHead& head) {
  const std::optional<std::string_view> text = value_of(head.fields, "grpc-timeout");
  if (!text) return;
  const std::optional<base::Duration> timeout = read_grpc_timeout(*text);
  if (!timeout) return refuse(exchange, Cause::client_bad_request);
  exchange.deadline = std::min(exchange.deadline, exchange.started + *timeout);
}

std::uint64_t Exchanges::body_limit(const Exchange& exchange) const {
  const std::uint64_t global = exchange.snapshot->model().limits.body_bytes;
  if (exchange.route == nullptr || exchange.route->policy == nullptr) return global;
  return exchange.route->policy->model.body_bytes.value_or(global);
}

// The head as the endpoint gets it. False: the route adds more fields than a head may have.
bool Exchanges::write_head(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head,
                           const routes::FieldEdits* edits) {
  const routes::Snapshot& snapshot = exchange.snapshot->snapshot();
  const routes::AddressSet& proxies = snapshot.trusted_proxies();
  char host[48];
  wire::Forwarding forwarding{.client_host = {host, client.peer.write_host(host)},
                              .scheme = scheme_of(client),
                              .port = client.listener->model.bind.port(),
                              .mode = mode_of(snapshot.model().forwarded),
                              .trusted = !proxies.empty() && proxies.contains(client.peer),
                              .via = snapshot.model().via,
                              .via_version = client.h2 != nullptr ? "2"
                                             : head.minor == 0    ? "1.0"
                                                                  : "1.1",
                              .certificate = certificate_of(client)};
  if (edits == nullptr) {
    exchange.head = wire::write_request(core_.reactor.blocks(), head, forwarding);
    return true;
  }
  wire::RequestHead& changed = core_.request;
  if (&changed != &head) changed = head;
  if (!change_request(changed.fields, *edits)) return false;
  exchange.request_edits = edits;
  forwarding.left_alone = forwarding_in(*edits);
  std::string path;
  if (const routes::Policy* policy = exchange.route->policy.get(); policy != nullptr) {
    if (policy->model.forwarded) forwarding.mode = mode_of(*policy->model.forwarded);
    if (policy->model.rewrite) {
      const routes::RewriteModel& rewrite = *policy->model.rewrite;
      forwarding.host = changed.authority;
      if (!rewrite.host.empty()) changed.authority = rewrite.host;
      path = routes::changed_path(rewrite.change, exchange.route->model.path.text, changed.path);
      changed.path = path;
    }
  }
  exchange.head = wire::write_request(core_.reactor.blocks(), changed, forwarding);
  return true;
}

void Exchanges::answer_here(Exchange& exchange) {
  const AppliedPolicy& applied = *exchange.applied;
  exchange.status = applied.status;
  exchange.own_bytes = exchange.front->answer(exchange.client, {.status = applied.status,
                                                                .head_only = exchange.method == wire::Method::head,
                                                                .request_whole = exchange.request_whole,
                                                                .location = applied.location,
                                                                .says_methods = applied.says_methods,
                                                                .changes = &applied.response});
  step(exchange, Event::failed);
  end(exchange, Cause::completed);
}

}  // namespace ebb::gate
