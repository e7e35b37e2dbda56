#include "gate/records.h"

#include <algorithm>

#include "gate/clients.h"
#include "gate/endpoints.h"

namespace ebb::gate {

using base::Cause;

namespace {

void keep_text(Account& account, const wire::RequestHead& head) {
  const wire::Field* referer = head.fields.find(wire::FieldId::referer);
  const wire::Field* agent = head.fields.find(wire::FieldId::user_agent);
  const std::string_view parts[] = {head.method_text, head.authority, head.target,
                                    referer == nullptr ? std::string_view() : referer->value,
                                    agent == nullptr ? std::string_view() : agent->value};
  for (std::size_t i = 0; i < std::size(parts); ++i) {
    account.text.append(parts[i]);
    account.text_ends[i] = static_cast<std::uint32_t>(account.text.size());
  }
}

std::string_view text_part(const Account& account, std::size_t index) {
  const std::uint32_t begin = index == 0 ? 0 : account.text_ends[index - 1];
  return std::string_view(account.text).substr(begin, account.text_ends[index] - begin);
}

void tally(EndpointTally& counts, const Exchange& exchange, Cause cause) {
  counts.requests += 1;
  counts.bytes_in += exchange.response.sent;
  counts.bytes_out += exchange.request.bytes;
  if (base::facts(cause).fault == base::Side::backend) counts.failures += 1;
  const std::size_t status_class = exchange.response.status / 100;
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

}  // namespace

void Records::begun(Exchange& exchange, const wire::RequestHead& head) {
  if (core_.log_format == observe::LogFormat::off) return;
  exchange.account.started_wall = core_.reactor.clock().wall();
  keep_text(exchange.account, head);
}

void Records::begun_bytes(Exchange& exchange, std::string_view server_name) {
  if (core_.log_format == observe::LogFormat::off) return;
  Account& account = exchange.account;
  account.started_wall = core_.reactor.clock().wall();
  account.text = server_name;
  std::fill(std::begin(account.text_ends) + 1, std::end(account.text_ends),
            static_cast<std::uint32_t>(server_name.size()));  // it stands for the authority
}

void Records::ended(const Exchange& exchange, const ClientConnection& client, Cause cause) {
  LiveEndpoint* endpoint = core_.endpoints->find(exchange.endpoint());
  const Account& account = exchange.account;
  observe::ExchangeRecord record;
  record.listener = client.listener->label;
  if (exchange.route != nullptr) record.route = exchange.route->label;
  if (exchange.backend_index != routes::no_backend) record.backend = exchange.backend().label;
  if (endpoint != nullptr) {
    tally(endpoint->tally, exchange, cause);
    record.endpoint = endpoint->label;
    record.endpoint_address = endpoint->address;
  }
  record.status = exchange.response.status;
  record.tries = exchange.tries.count;
  record.reused = account.reused;
  record.cause = cause;
  record.bytes_received = exchange.request.bytes;
  record.bytes_sent = exchange.response.sent + exchange.response.own_bytes;
  record.until_backend = account.handed_over - account.started;
  record.until_response = account.first_byte - account.started;
  record.total = core_.reactor.now() - account.started;
  core_.counters.record(record);
  if (!logs()) return;

  if (endpoint == nullptr) {
    if (const LiveEndpoint* last = core_.endpoints->find(exchange.tries.last_endpoint)) {
      record.endpoint = last->label;
      record.endpoint_address = last->address;
      record.until_backend = base::Duration{-1};  // it got nothing: no connection to it came about
    }
  }
  record.client = client.peer;
  record.method = text_part(account, 0);
  record.authority = text_part(account, 1);
  record.target = text_part(account, 2);
  record.referer = text_part(account, 3);
  record.user_agent = text_part(account, 4);
  record.protocol = exchange.request.wants == Wants::bytes ? name_of_bytes(exchange) : client.protocol();
  if (client.secure != nullptr) record.tls = client.secure->session.protocol();
  record.started = account.started_wall;
  log(record);
}

void Records::log(const observe::ExchangeRecord& record) {
  observe::format_record(record, core_.log_format, core_.labels, core_.log_line);
  if (!core_.access_log->push(core_.log_line)) core_.counters.log_lines_dropped += 1;
}

void Records::failed_handshake(const ClientConnection& client, Cause cause, std::string_view server_name) {
  if (!logs()) return;
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

void Records::refused(const ClientConnection& client, Cause cause, const wire::RequestHead* head, std::size_t sent) {
  Exchange refused;
  if (head != nullptr) keep_text(refused.account, *head);
  refused.account.started = refused.account.handed_over = refused.account.first_byte = core_.reactor.now();
  refused.account.started_wall = core_.reactor.clock().wall();
  refused.response.status = static_cast<std::uint16_t>(base::facts(cause).status);
  refused.response.own_bytes = sent;
  ended(refused, client, cause);
}

}  // namespace ebb::gate
