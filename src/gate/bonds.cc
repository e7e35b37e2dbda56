#include "gate/bonds.h"

#include <algorithm>

#include "base/stable_hash.h"
#include "gate/balance.h"
#include "gate/clients.h"
#include "gate/head_fields.h"
#include "gate/sticky_cookie.h"
#include "routes/client_address.h"

namespace ebb::gate {

using base::Handle;
using routes::Balance;

namespace {

const wire::OpaqueToken& token_of(LiveEndpoint& endpoint) {
  if (!endpoint.token) endpoint.token = sticky_token(endpoint.identity);
  return *endpoint.token;
}

}  // namespace

void Bonds::note(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head) {
  const routes::Snapshot& snapshot = exchange.snapshot->snapshot();
  const routes::BackendModel& model = snapshot.backends()[exchange.backend_index].model;
  const HeadFields fields(head.fields);
  if (model.balance == Balance::source_hash) {
    const auto source = routes::client_address(client.peer, fields, snapshot.trusted_proxies());
    if (source.hops == routes::ClientAddress::Hops::too_many) {
      return exchange.refuse(base::Cause::client_too_many_hops);
    }
    exchange.hash_key = source_key(source.address);
  } else if (model.balance == Balance::header_hash) {
    const std::optional<std::string_view> value = fields.line(model.hash_header, 0);
    if (value) exchange.hash_key = base::StableHash().add(*value).value();
  }
  if (!model.sticky) return;
  const bool had_cookie = any_cookie(head.fields, model.sticky->cookie, [](std::string_view) { return true; });
  exchange.apply().sticky = {
      .had_cookie = had_cookie,
      .bound = named_endpoint(core_.endpoints->view(exchange.view()), *model.sticky, head.fields),
      .client = source_key(routes::client_address(client.peer, fields, snapshot.trusted_proxies()).address),
      .over_tls = client.secure != nullptr};
}

void Bonds::note_source(Exchange& exchange, const base::Address& client) {
  const routes::BackendModel& model = exchange.backend().model;
  if (model.balance == Balance::source_hash) exchange.hash_key = source_key(client);
}

lifecycle::ClientKey key_of(const Exchange& exchange) {
  if (exchange.hash_key) return *exchange.hash_key | 1;
  return bound_here(exchange) ? exchange.applied->sticky->client | 1 : lifecycle::unbound;
}

bool bound_here(const Exchange& exchange) {
  return exchange.applied != nullptr && exchange.applied->sticky &&
         exchange.applied->sticky->bound == exchange.endpoint();
}

Handle Bonds::named_endpoint(BackendView& view, const routes::StickyModel& sticky, const wire::Fields& fields) {
  Handle named;
  any_cookie(fields, sticky.cookie, [&](std::string_view token) {
    for (const Handle handle : view.endpoints) {
      if (token_of(*core_.endpoints->find(handle)).view() == token) named = handle;
    }
    return static_cast<bool>(named);
  });
  return named;
}

std::optional<std::size_t> Bonds::bound_share(const Exchange& exchange, const wire::RequestHead& head) {
  const std::vector<routes::Share>& shares = *exchange.route->shares;
  const routes::Snapshot& snapshot = exchange.snapshot->snapshot();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const routes::BackendModel& model = snapshot.backends()[shares[i].backend].model;
    if (!model.sticky) continue;
    BackendView& view = core_.endpoints->view(exchange.snapshot->views[shares[i].backend]);
    const LiveEndpoint* endpoint = core_.endpoints->find(named_endpoint(view, *model.sticky, head.fields));
    if (endpoint == nullptr) continue;
    if (bond_with(*endpoint, *model.sticky, core_.reactor.now()) != lifecycle::Bond::broken) return i;
  }
  return std::nullopt;
}

const wire::RequestHead& Bonds::without_our_cookies(const Exchange& exchange, const wire::RequestHead& head,
                                                    std::string& text) {
  const routes::Snapshot& snapshot = exchange.snapshot->snapshot();
  std::vector<std::string_view> names;
  const auto note = [&](std::uint32_t backend) {
    const std::optional<routes::StickyModel>& sticky = snapshot.backends()[backend].model.sticky;
    if (sticky) names.push_back(sticky->cookie);
  };
  if (exchange.route->shares == nullptr) {
    note(exchange.backend_index);
  } else {
    for (const routes::Share& share : *exchange.route->shares) note(share.backend);
  }
  const auto is_there = [&](std::string_view name) {
    return any_cookie(head.fields, name, [](std::string_view) { return true; });
  };
  if (std::ranges::none_of(names, is_there)) return head;
  wire::RequestHead& changed = core_.request;
  if (&changed != &head) changed = head;
  hide_cookies(changed.fields, names, text);
  return changed;
}

void Bonds::give_cookie(Exchange& exchange) {
  const StickyClient& client = *exchange.applied->sticky;
  LiveEndpoint* endpoint = core_.endpoints->find(exchange.endpoint());
  if (endpoint == nullptr) return;
  if (exchange.endpoint() == client.bound) {
    core_.counters.sticky_stayed += 1;
    return;
  }
  (client.had_cookie ? core_.counters.sticky_moved : core_.counters.sticky_bound) += 1;
  const routes::StickyModel& sticky = *exchange.backend().model.sticky;
  exchange.applied->response.set_cookie = set_cookie(sticky, token_of(*endpoint), client.over_tls);
}

}  // namespace ebb::gate
