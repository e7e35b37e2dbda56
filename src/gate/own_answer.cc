#include "gate/own_answer.h"

#include "wire/h1_write.h"

namespace ebb::gate {

using base::Cause;

OwnAnswer own_answer(Cause cause, wire::Method method, bool request_whole) {
  return {.status = base::facts(cause).status,
          .words = base::facts(cause).words,
          .cause = cause,
          .head_only = method == wire::Method::head,
          .request_whole = request_whole};
}

int grpc_status(int http_status, Cause cause) {
  enum { unknown = 2, deadline_exceeded = 4, permission_denied = 7, resource_exhausted = 8, unimplemented = 12 };
  enum { internal = 13, unavailable = 14, unauthenticated = 16 };
  if (cause == Cause::request_timeout) return deadline_exceeded;
  switch (http_status) {
    case 400: return internal;
    case 401: return unauthenticated;
    case 403: return permission_denied;
    case 404: return unimplemented;
    case 413:
    case 431: return resource_exhausted;
    case 429:
    case 502:
    case 503:
    case 504: return unavailable;
    default: return unknown;
  }
}

namespace {

void write_grpc(const OwnAnswer& answer, wire::ResponseHead& head, std::string& text) {
  text = std::to_string(grpc_status(answer.status, answer.cause));
  const std::size_t status_size = text.size();
  text.append(answer.words).append(" (").append(base::name(answer.cause)).append(")");
  const std::string_view all = text;
  head.status = 200;
  head.fields.add({"content-type", "application/grpc"});
  head.fields.add({"grpc-status", all.substr(0, status_size)});
  head.fields.add({"grpc-message", all.substr(status_size)});
}

}  // namespace

std::string_view write_own_message(const OwnAnswer& answer, wire::ResponseHead& head, std::string& text) {
  head.fields.clear();
  head.minor = 1;
  head.framing = wire::Framing::none;
  head.has_length = false;
  head.upgrade = {};
  if (answer.grpc) {
    write_grpc(answer, head, text);
    return {};
  }
  head.status = static_cast<std::uint16_t>(answer.status);
  head.reason = wire::reason_phrase(answer.status);
  text = std::to_string(answer.status);
  text.append(" ").append(head.reason).append("\n");
  text.append(answer.words).append(" (").append(base::name(answer.cause)).append(")\n");
  head.has_length = true;
  head.content_length = text.size();
  head.fields.add({"Content-Type", "text/plain"});
  if (answer.status == 503) head.fields.add({"Retry-After", "1"});
  if (answer.status == 405) head.fields.add({"Allow", "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH"});
  if (answer.head_only) return {};
  head.framing = wire::Framing::length;
  return text;
}

}  // namespace ebb::gate
