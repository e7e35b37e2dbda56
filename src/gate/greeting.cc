// What may come before TLS and HTTP: a header of the PROXY protocol from a hop that is trusted, and a ClientHello that
// is looked at, because its name may belong to a route that passes TLS through. Part of Clients.
//
// Before: the reactor. Next: gate/clients (TLS and HTTP), or gate/exchanges (a tunnel of bytes).
#include "gate/client_limits.h"
#include "gate/clients.h"
#include "gate/gather.h"
#include "gate/intake.h"
#include "gate/records.h"
#include "wire/client_hello.h"
#include "wire/proxy_protocol.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Slice;
using reactor::CloseMode;
using wire::Parsed;

void Clients::greet(ClientConnection& client) {
  const OpenListener& listener = *client.listener;
  client.awaits_proxy_header = listener.proxies.contains(client.peer);
  core_.arm(client.timer, listener.tls != nullptr ? core_.timeouts().tls_handshake : core_.timeouts().client_head);
  if (!client.awaits_proxy_header) after_proxy_header(client);
}

// Also called with nothing received: a listener that looks at nothing goes on at once.
void Clients::after_proxy_header(ClientConnection& client) {
  const OpenListener& listener = *client.listener;
  const std::uint32_t limit = listener.model.connections_per_client;
  if (limit > 0 && core_.client_limits != nullptr) {
    client.counted = core_.client_limits->enter(listener.label, client.peer, limit);
    if (!client.counted) return close(client.self, Cause::client_too_many, CloseMode::reset);
  }
  switch (listener.model.protocol) {
    case routes::Protocol::http: return begin_plain(client);
    case routes::Protocol::https:
      if (!listener.looks_at_names) return begin_tls(client);
      break;
    case routes::Protocol::tls_passthrough: break;
    case routes::Protocol::tcp: return begin_bytes(client, nullptr, listener.model.backend, {});
    case routes::Protocol::udp: return;  // has no connections
  }
  if (!client.input.empty()) look_at_name(client);
}

void Clients::take_greeting(ClientConnection& client, Slice bytes) {
  client.spoke = true;
  client.input.push(std::move(bytes));
  if (!client.awaits_proxy_header) return look_at_name(client);

  gather(core_.reactor.blocks(), client.input, wire::proxy_header_bytes_max);
  wire::ProxyHeader header;
  const Parsed parsed = wire::parse_proxy_header(client.input.front().view(), header);
  if (parsed.status == Parsed::Status::incomplete) return;
  if (parsed.status == Parsed::Status::refused) return close(client.self, parsed.cause, CloseMode::reset);
  client.awaits_proxy_header = false;
  client.input.drop_front(parsed.consumed);
  if (header.has_addresses()) {
    client.peer = header.source;
    client.destination = std::make_unique<base::Address>(header.destination);
  }
  after_proxy_header(client);
}

void Clients::look_at_name(ClientConnection& client) {
  gather(core_.reactor.blocks(), client.input, wire::client_hello_bytes_max);
  wire::ClientHello hello;
  const Parsed parsed = wire::parse_client_hello(client.input.front().view(), hello);
  if (parsed.status == Parsed::Status::incomplete) return;
  const bool ends_here = client.listener->tls != nullptr;
  const bool read = parsed.status == Parsed::Status::complete;
  const std::string_view terminates = ends_here ? std::string_view(client.listener->model.name) : std::string_view();
  const routes::Route* route =
      read ? core_.current->snapshot().match_server_name(hello.server_name, terminates) : nullptr;
  if (route != nullptr) return begin_bytes(client, route, {}, hello.server_name);
  // What TLS itself makes of it, also of one that cannot be read, is for the session to say.
  if (ends_here) return begin_tls(client);
  refuse_name(client, read ? wire::Alert::unrecognized_name : hello.alert, hello.server_name);
}

void Clients::refuse_name(ClientConnection& client, wire::Alert alert, std::string_view name) {
  if (alert != wire::Alert::none) {
    const auto record = wire::fatal_alert(alert);
    Chain out;
    out.push(core_.reactor.blocks().copy({record.data(), record.size()}));
    core_.reactor.send(client.socket, std::move(out));
  }
  const bool unknown = alert == wire::Alert::unrecognized_name;
  const Cause cause = unknown ? Cause::client_tls_name_refused : Cause::client_tls_failed;
  core_.records->failed_handshake(client, cause, name);
  client.spoke = false;  // it has its line
  close(client.self, cause, CloseMode::flush);
}

void Clients::begin_plain(ClientConnection& client) {
  step(client, Event::plain);
  if (!client.input.empty()) read_head(client);
}

void Clients::begin_tls(ClientConnection& client) {
  step(client, Event::handshake);
  client.secure = std::make_unique<SecureLayer>(client.listener->tls);
  Chain received = std::move(client.input);
  while (!received.empty() && !client.life.ended()) take_encrypted(client, received.pop_front());
}

// Bytes both ways from here on, and nothing is known of what they mean. What was looked at goes first.
void Clients::begin_bytes(ClientConnection& client, const routes::Route* route, std::string_view backend,
                          std::string_view server_name) {
  const std::uint32_t index = route != nullptr ? route->backend : core_.current->snapshot().find_backend(backend);
  if (index == routes::no_backend) return close(client.self, Cause::listener_removed, CloseMode::drop);
  step(client, Event::head_complete);
  client.timer.disarm();
  client.exchange = core_.intake->begin_bytes(*this, client.self, route, index, server_name);
  core_.intake->start(client.exchange);
}

}  // namespace ebb::gate
