#include "gate/request_head.h"

#include "gate/clients.h"
#include "routes/path_change.h"
#include "wire/h1_write.h"

namespace ebb::gate {

namespace {

wire::ForwardingMode mode_of(routes::ForwardedMode mode) {
  switch (mode) {
    case routes::ForwardedMode::append: return wire::ForwardingMode::append;
    case routes::ForwardedMode::replace: return wire::ForwardingMode::replace;
    case routes::ForwardedMode::if_none: return wire::ForwardingMode::if_none;
    case routes::ForwardedMode::never: return wire::ForwardingMode::never;
  }
  return wire::ForwardingMode::append;
}

const wire::PeerCertificate* certificate_of(const ClientConnection& client) {
  const bool asked = client.listener->model.client_certificates.mode != routes::ClientCertificates::none;
  return asked && client.secure != nullptr ? client.secure->session.peer_certificate() : nullptr;
}

}  // namespace

std::string_view scheme_of(const ClientConnection& client) { return client.secure != nullptr ? "https" : "http"; }

const wire::RequestHead& with_forwards(Core& core, const wire::RequestHead& head, std::uint64_t left,
                                       std::string& text) {
  wire::RequestHead& changed = core.request;
  if (&changed != &head) changed = head;
  text = std::to_string(left);
  for (wire::Field& field : changed.fields.all()) {
    if (field.id == wire::FieldId::max_forwards) field.value = text;
  }
  return changed;
}

bool write_head(Core& core, Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head,
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
    exchange.request.head = wire::write_request(core.reactor.blocks(), head, forwarding);
    return true;
  }
  wire::RequestHead& changed = core.request;
  if (&changed != &head) changed = head;
  if (!change_request(changed.fields, *edits)) return false;
  exchange.request.edits = edits;
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
  exchange.request.head = wire::write_request(core.reactor.blocks(), changed, forwarding);
  return true;
}

}  // namespace ebb::gate
