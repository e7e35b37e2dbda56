#include "canary/echo.h"

#include "wire/h1_write.h"
#include "wire/http_date.h"
#include "wire/websocket.h"

namespace ebb::canary {

namespace {

std::string_view value_of(const wire::Fields& fields, std::string_view name) {
  const wire::Field* const field = fields.find(name);
  return field == nullptr ? std::string_view() : field->value;
}

}  // namespace

EchoRequest echo_request(const wire::RequestHead& head) {
  EchoRequest request{
      .head_only = head.method == wire::Method::head, .keep_alive = head.keep_alive, .minor = head.minor};
  const std::string_view nonce = value_of(head.fields, nonce_field.lower);
  if (nonce.size() <= nonce_bytes_max) request.nonce = nonce;
  return request;
}

void EchoDesk::begin(std::uint16_t status) {
  date_ = wire::http_date(clock_.wall());
  response_.status = status;
  response_.reason = wire::reason_phrase(status);
  response_.framing = wire::Framing::none;
  response_.has_length = false;
  response_.content_length = 0;
  response_.upgrade = {};
  response_.fields.clear();
  response_.fields.add({.name = "date", .value = date_});
}

const wire::ResponseHead& EchoDesk::answer(const EchoRequest& request, std::uint16_t port) {
  begin(request.websocket ? 101 : 200);
  if (request.websocket) {
    response_.upgrade = "websocket";
  } else {
    response_.framing = request.head_only ? wire::Framing::none : wire::Framing::length;
    response_.has_length = true;
    response_.content_length = identity_.body.size();
    response_.fields.add({.name = "content-type", .value = "text/plain; charset=utf-8"});
    response_.fields.add({.name = "cache-control", .value = "no-store"});
  }
  if (!request.websocket_key.empty()) {
    const auto accept = wire::websocket_accept(request.websocket_key);
    accept_.assign(accept.data(), accept.size());
    response_.fields.add({.name = "sec-websocket-accept", .value = accept_});
  }
  port_ = std::to_string(port);
  response_.fields.add({.name = port_field.lower, .value = port_});
  if (!request.nonce.empty()) response_.fields.add({.name = nonce_field.lower, .value = request.nonce});
  if (!identity_.pod.empty()) response_.fields.add({.name = pod_field.lower, .value = identity_.pod});
  if (!identity_.node.empty()) response_.fields.add({.name = node_field.lower, .value = identity_.node});
  return response_;
}

const wire::ResponseHead& EchoDesk::refusal(base::Cause cause) {
  const int status = base::facts(cause).status;
  begin(static_cast<std::uint16_t>(status == 0 ? 400 : status));
  response_.has_length = true;
  return response_;
}

}  // namespace ebb::canary
