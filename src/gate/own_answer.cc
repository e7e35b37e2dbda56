#include "gate/own_answer.h"

#include "gate/field_changes.h"
#include "routes/policy.h"
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

constexpr std::string_view served_methods = "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH";

std::string sentence(std::string_view words, Cause cause) {
  return std::string(words).append(" (").append(base::name(cause)).append(")");
}

void write_grpc(const OwnAnswer& answer, wire::ResponseHead& head, std::string& text) {
  text = std::to_string(grpc_status(answer.status, answer.cause));
  const std::size_t status_size = text.size();
  text.append(sentence(answer.words, answer.cause));
  const std::string_view all = text;
  head.status = 200;
  head.fields.add({"content-type", "application/grpc"});
  head.fields.add({"grpc-status", all.substr(0, status_size)});
  head.fields.add({"grpc-message", all.substr(status_size)});
}

// The text begins with what goes into fields, then comes the body.
std::string_view write_error(const OwnAnswer& answer, const routes::ErrorBodyModel* body, wire::ResponseHead& head,
                             std::string& text) {
  text.clear();
  if (answer.retry_after != 0) text = std::to_string(answer.retry_after);
  const std::size_t retry_after_size = text.size();
  if (body == nullptr) {
    text.append(std::to_string(answer.status)).append(" ").append(head.reason).append("\n");
    text.append(sentence(answer.words, answer.cause)).append("\n");
  }
  const std::string_view all = text;
  head.fields.add({"Content-Type", body == nullptr ? std::string_view("text/plain") : body->content_type});
  if (retry_after_size != 0) {
    head.fields.add({"Retry-After", all.substr(0, retry_after_size)});
  } else if (answer.status == 503) {
    head.fields.add({"Retry-After", "1"});
  }
  if (answer.status == 405) head.fields.add({"Allow", served_methods});
  return body == nullptr ? all.substr(retry_after_size) : std::string_view(body->body());
}

}  // namespace

std::string grpc_trailers(Cause cause) {
  const base::CauseFacts& facts = base::facts(cause);
  return "grpc-status: " + std::to_string(grpc_status(facts.status, cause)) +
         "\r\ngrpc-message: " + sentence(facts.words, cause) + "\r\n";
}

std::string_view write_own_message(const OwnAnswer& answer, std::span<const routes::ErrorBodyModel> errors,
                                   wire::ResponseHead& head, std::string& text, bool say_cause) {
  head.fields.clear();
  head.minor = 1;
  head.framing = wire::Framing::none;
  head.has_length = false;
  head.upgrade = {};
  head.status = static_cast<std::uint16_t>(answer.status);
  head.reason = wire::reason_phrase(answer.status);
  const bool error = answer.status >= 400;
  std::string_view body;
  if (error && answer.grpc) {
    write_grpc(answer, head, text);
  } else if (error) {
    body =
        write_error(answer, answer.body != nullptr ? answer.body : routes::error_body(errors, head.status), head, text);
  } else if (!answer.location.empty()) {
    head.fields.add({"Location", answer.location});
  }
  if (answer.says_methods) head.fields.add({"Allow", served_methods});
  if (error && say_cause) head.fields.add({"Ebbgate-Cause", base::name(answer.cause)});
  if (answer.changes != nullptr) answer.changes->apply(head.fields);
  // A call's answer ends with its head, and 204 has no length (RFC 9110 8.6).
  head.has_length = answer.status != 204 && !(error && answer.grpc);
  head.content_length = body.size();
  if (answer.head_only || body.empty()) return {};
  head.framing = wire::Framing::length;
  return body;
}

}  // namespace ebb::gate
