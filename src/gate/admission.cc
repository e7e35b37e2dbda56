#include "gate/admission.h"

#include <algorithm>
#include <utility>

#include "gate/bonds.h"
#include "gate/clients.h"
#include "gate/compression.h"
#include "gate/grpc_timeout.h"
#include "gate/head_fields.h"
#include "gate/hops.h"
#include "gate/request_head.h"
#include "routes/client_address.h"
#include "routes/path_change.h"
#include "wire/canary_fields.h"

namespace ebb::gate {

using base::Cause;

namespace {

constexpr std::size_t rate_slots = std::size_t{1} << 16;
constexpr std::uint16_t no_content = 204;

std::optional<std::string_view> value_of(const wire::Fields& fields, std::string_view name) {
  const wire::Field* field = fields.find(name);
  if (field == nullptr) return std::nullopt;
  return field->value;
}

// A caller that waits no longer needs no answer: its deadline is ours.
void note_grpc_timeout(Exchange& exchange, const wire::RequestHead& head) {
  const std::optional<std::string_view> text = value_of(head.fields, "grpc-timeout");
  if (!text) return;
  const std::optional<base::Duration> timeout = read_grpc_timeout(*text);
  if (!timeout) return exchange.refuse(Cause::client_bad_request);
  exchange.deadline = std::min(exchange.deadline, exchange.account.started + *timeout);
}

}  // namespace

std::uint64_t body_limit(const Exchange& exchange) {
  const std::uint64_t global = exchange.snapshot->model().limits.body_bytes;
  const routes::Policy* policy = exchange.policy();
  return policy == nullptr ? global : policy->model.body_bytes.value_or(global);
}

void Admission::limit_request(Exchange& exchange, const wire::RequestHead& head) {
  if (exchange.request.grpc) note_grpc_timeout(exchange, head);
  const std::uint64_t limit = body_limit(exchange);
  if (limit != 0 && head.framing == wire::Framing::length && head.content_length > limit) {
    exchange.refuse(Cause::client_body_too_large);
  }
}

std::optional<std::uint64_t> Admission::limit_hops(Exchange& exchange, const wire::RequestHead& head) {
  const std::string& via = exchange.snapshot->model().via;
  if (!via.empty() && has_passed(head.fields, via)) exchange.refuse(Cause::forwarding_loop);
  const ForwardsLeft left = forwards_left(head);
  if (!left.valid) exchange.refuse(Cause::client_bad_request);
  if (!left.valid || left.count != 0) return left.valid ? left.count : std::nullopt;
  if (head.method == wire::Method::trace) {
    exchange.refuse(Cause::client_method_refused);  // to say back what others have added is not ours
  } else {
    AppliedPolicy& applied = exchange.apply();
    applied.says_methods = applied.status == 0;
    if (applied.says_methods) applied.status = no_content;
  }
  return std::nullopt;
}

// Of TLS that is passed through there is little to ask for: who may come, and where it goes.
void Admission::admit_bytes(Exchange& exchange, const base::Address& client) {
  const routes::Route& route = *exchange.route;
  if (route.policy != nullptr && !route.policy->addresses.admits(client)) {
    exchange.refuse(Cause::client_address_refused);
  }
  if (route.shares != nullptr) choose_share(exchange, nullptr);
}

void Admission::apply_policy(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head) {
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
    exchange.deadline = exchange.account.started + policy.model.timeouts.request;
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
void Admission::admit(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head) {
  using Hops = routes::ClientAddress::Hops;
  const routes::Policy& policy = *exchange.route->policy;
  const bool has_lists = !policy.addresses.allow.empty() || !policy.addresses.deny.empty();
  if (!has_lists && !policy.model.rate_limit) return;
  const auto [address, hops] =
      routes::client_address(client.peer, HeadFields(head.fields), exchange.snapshot->snapshot().trusted_proxies());
  if (hops == Hops::too_many) return exchange.refuse(Cause::client_too_many_hops);
  // A client whom its proxy hides has none of the addresses that are allowed, and may have one that is denied.
  const bool refused = has_lists && (hops == Hops::hidden || !policy.addresses.admits(address));
  if (refused) return exchange.refuse(Cause::client_address_refused);
  if (!policy.model.rate_limit) return;
  if (core_.rates == nullptr) core_.rates = std::make_unique<routes::RateTable>(rate_slots, core_.random.next());
  const base::Duration wait =
      core_.rates->take(exchange.route->label, address, *policy.model.rate_limit, core_.reactor.now());
  if (wait == base::Duration::zero()) return;
  exchange.apply().retry_after = routes::retry_after_seconds(wait);
  exchange.refuse(Cause::client_rate_limited);
}

// True: a preflight, which is answered here.
bool Admission::apply_cors(Exchange& exchange, const wire::RequestHead& head) {
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
const routes::FieldEdits* Admission::choose_share(Exchange& exchange, const wire::RequestHead* head) {
  const std::vector<routes::Share>& shares = *exchange.route->shares;
  std::optional<std::size_t> index;
  if (head != nullptr) index = core_.bonds->bound_share(exchange, *head);
  if (!index) index = routes::pick(shares, core_.random.next());
  if (!index) {
    exchange.refuse(Cause::backend_empty);
    return nullptr;
  }
  const routes::Share& share = shares[*index];
  exchange.backend_index = share.backend;
  if (!share.response.empty()) exchange.apply().response.edits = &share.response;
  return &share.request;
}

}  // namespace ebb::gate
