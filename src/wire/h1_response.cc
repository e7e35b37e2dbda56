// Response heads (RFC 9112 4 and 6.3). Before: the backend's bytes. Next: h1_section for the fields.
#include "wire/h1_field.h"
#include "wire/h1_head.h"
#include "wire/h1_scan.h"
#include "wire/h1_section.h"

namespace ebb::wire {
namespace {

using base::Cause;
using Status = Parsed::Status;

constexpr std::uint16_t switching_protocols = 101;
constexpr std::uint16_t no_content = 204;
constexpr std::uint16_t not_modified = 304;

Parsed bad_response(const char* why) { return refused(Cause::backend_bad_response, why); }

// `consumed` is the length of the status line. Some servers omit the space after the code if there is no reason phrase;
// this is unambiguous.
Parsed read_status_line(std::string_view bytes, ResponseHead& out) {
  constexpr std::string_view shape = "HTTP/1.d ddd";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == bytes.size()) return {};
    const bool fits = shape[i] == 'd' ? scan::is_digit(bytes[i]) : bytes[i] == shape[i];
    if (!fits) return bad_response("invalid status line");
  }
  if (bytes[9] == '0') return bad_response("status code below 100");
  out.minor = bytes[7] == '0' ? 0 : 1;
  out.status = static_cast<std::uint16_t>((bytes[9] - '0') * 100 + (bytes[10] - '0') * 10 + (bytes[11] - '0'));

  const char* end = bytes.data() + bytes.size();
  const char* at = bytes.data() + shape.size();
  if (at != end && *at == ' ') {
    const char* reason_end = scan::skip_value(at + 1, end);
    out.reason = {at + 1, reason_end};
    at = reason_end;
  }
  if (at == end) return {};
  if (*at != '\r') return bad_response("invalid byte in the status line");
  if (end - at < 2) return {};
  if (at[1] != '\n') return bad_response("bare CR in the status line");
  return {.status = Status::complete, .consumed = static_cast<std::uint32_t>(at + 2 - bytes.data())};
}

// RFC 9112 6.3, in that order.
Parsed conclude(const SectionFacts& facts, Method request_method, ResponseHead& out) {
  out.keep_alive = facts.keep_alive(out.minor);
  out.idle_seconds = facts.idle_seconds;
  out.content_length = facts.content_length;
  out.has_length = facts.has_length;
  if (out.status == switching_protocols) {
    if (facts.upgrade.empty() || !facts.wants_upgrade) return bad_response("101 without Upgrade");
    out.upgrade = facts.upgrade;
  }
  if (out.status < 200 || out.status == no_content) {
    // Such a response has no content. A backend that announces content may still send it.
    if (facts.chunked || facts.content_length != 0) return bad_response("content announced where none may be");
    out.has_length = false;
    out.framing = Framing::none;
  } else if (request_method == Method::head || out.status == not_modified) {
    out.framing = Framing::none;
  } else if (facts.chunked) {
    out.framing = Framing::chunked;
  } else if (facts.has_length) {
    out.framing = Framing::length;
  } else {
    out.framing = Framing::until_close;
    out.keep_alive = false;
  }
  return {.status = Status::complete};
}

Parsed read_response(std::string_view bytes, const HeadLimits& limits, Method request_method, ResponseHead& out) {
  const Parsed line = read_status_line(bytes, out);
  if (line.status != Status::complete) return line;
  SectionFacts facts;
  const SectionRules rules{.request = false, .minor = out.minor, .fields_limit = limits.fields};
  const Parsed section = read_section(bytes, bytes.data() + line.consumed, rules, out.fields, facts);
  if (section.status == Status::refused) return bad_response(section.why);
  if (section.status == Status::incomplete) return section;
  const Parsed conclusion = conclude(facts, request_method, out);
  return conclusion.status == Status::complete ? section : conclusion;
}

}  // namespace

void clear(ResponseHead& head) {
  head.status = 0;
  head.reason = head.upgrade = {};
  head.minor = 1;
  head.framing = Framing::none;
  head.content_length = 0;
  head.has_length = false;
  head.keep_alive = true;
  head.idle_seconds = 0;
  head.fields.clear();
}

Parsed parse_response(std::string_view bytes, const HeadLimits& limits, Method request_method, ResponseHead& out) {
  clear(out);
  // As for requests: never looks at bytes beyond the limit.
  const Parsed parsed = read_response(bytes.substr(0, limits.head_bytes), limits, request_method, out);
  if (parsed.status == Status::incomplete && bytes.size() >= limits.head_bytes) {
    return bad_response("response head too long");
  }
  return parsed;
}

}  // namespace ebb::wire
