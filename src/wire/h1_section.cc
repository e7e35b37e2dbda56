#include "wire/h1_section.h"

#include <algorithm>

#include "wire/h1_field.h"

namespace ebb::wire {
namespace {

using base::Cause;

// Matching options with fields is quadratic; a longer list is an attack.
constexpr std::uint32_t connection_options_max = 32;

constexpr std::uint64_t idle_seconds_max = 86'400;

constexpr Parsed accepted = {};

Parsed refused_request(const char* why) { return refused(Cause::client_bad_request, why); }

Parsed note_host(const Field& field, SectionFacts& facts) {
  if (facts.has_host) return refused_request("several Host fields");
  if (!valid_authority(field.value)) return refused_request("invalid Host");
  facts.has_host = true;
  facts.host = field.value;
  return accepted;
}

Parsed note_content_length(const Field& field, SectionFacts& facts) {
  if (facts.has_length) return refused_request("repeated Content-Length");
  if (facts.chunked) return refused_request("Content-Length beside Transfer-Encoding");
  if (!read_content_length(field.value, facts.content_length)) return refused_request("invalid Content-Length");
  facts.has_length = true;
  return accepted;
}

// Only one final `chunked` is supported. An unknown coding gets 501 (RFC 9112 6.1); a list whose end cannot be found
// gets 400 (RFC 9112 6.3).
Parsed refuse_codings(std::string_view value) {
  ListWalk walk(value);
  bool chunked_seen = false;
  for (std::string_view coding; walk.next(coding);) {
    if (chunked_seen) return refused_request("chunked is not the last transfer coding");
    if (!is_token(coding.substr(0, coding.find_first_of("; \t")))) return refused_request("invalid Transfer-Encoding");
    chunked_seen = equals_ignoring_case(coding, "chunked");
    if (!chunked_seen && equals_ignoring_case(coding.substr(0, 7), "chunked") && !is_token(coding)) {
      return refused_request("chunked has no parameters");
    }
  }
  return refused(Cause::client_coding_refused, "transfer coding other than chunked");
}

Parsed note_transfer_encoding(const Field& field, std::uint8_t minor, SectionFacts& facts) {
  // RFC 9112 6.1: a 1.0 message with Transfer-Encoding has faulty framing, whatever the value.
  if (minor == 0) return refused_request("Transfer-Encoding in HTTP/1.0");
  if (facts.has_length) return refused_request("Transfer-Encoding beside Content-Length");
  if (facts.chunked) return refused_request("repeated Transfer-Encoding");
  if (!equals_ignoring_case(field.value, "chunked")) return refuse_codings(field.value);
  facts.chunked = true;
  return accepted;
}

// If Connection could nominate these fields, dropping them would change framing, routing or the client's address for
// the next reader.
bool may_be_nominated(FieldId id) {
  switch (id) {
    case FieldId::host:
    case FieldId::content_length:
    case FieldId::transfer_encoding:
    case FieldId::expect:
    case FieldId::forwarded:
    case FieldId::x_forwarded_for:
    case FieldId::x_forwarded_host:
    case FieldId::x_forwarded_port:
    case FieldId::x_forwarded_proto: return false;
    default: return true;
  }
}

Parsed note_connection(const Field& field, SectionFacts& facts) {
  ListWalk walk(field.value);
  for (std::string_view option; walk.next(option);) {
    if (option.empty()) continue;  // RFC 9110 5.6.1.2: a recipient accepts empty elements
    if (++facts.connection_options > connection_options_max) return refused_request("too many Connection options");
    if (equals_ignoring_case(option, "keep-alive")) {
      facts.wants_keep_alive = true;
    } else if (equals_ignoring_case(option, "close")) {
      facts.wants_close = true;
    } else if (equals_ignoring_case(option, "upgrade")) {
      facts.wants_upgrade = true;
    } else {
      if (!is_token(option)) return refused_request("invalid Connection option");
      if (!may_be_nominated(field_id(option))) return refused_request("Connection names a field that must pass");
      facts.nominates = true;
    }
  }
  return accepted;
}

Parsed note_expect(Field& field, std::uint8_t minor, SectionFacts& facts) {
  // RFC 9110 10.1.1: ignored in HTTP/1.0, hence not forwarded as HTTP/1.1 either.
  field.hop = minor == 0;
  if (minor == 0) return accepted;
  if (!equals_ignoring_case(field.value, "100-continue")) {
    return refused(Cause::client_expectation_failed, "expectation other than 100-continue");
  }
  facts.expects_continue = true;
  return accepted;
}

Parsed note_upgrade(Field& field, SectionFacts& facts) {
  if (facts.has_upgrade) return refused_request("several Upgrade fields");
  facts.has_upgrade = true;
  facts.upgrade = field.value;
  field.hop = true;
  return accepted;
}

// "timeout=5, max=100" (RFC 2068 19.7.1.1); an unreadable hint is ignored.
Parsed note_keep_alive(const Field& field, SectionFacts& facts) {
  constexpr std::string_view timeout = "timeout=";
  ListWalk walk(field.value);
  for (std::string_view parameter; walk.next(parameter);) {
    if (parameter.size() <= timeout.size()) continue;
    if (!equals_ignoring_case(parameter.substr(0, timeout.size()), timeout)) continue;
    std::uint64_t seconds = 0;
    const bool read = read_content_length(parameter.substr(timeout.size()), seconds);
    if (read) facts.idle_seconds = static_cast<std::uint32_t>(std::min<std::uint64_t>(seconds, idle_seconds_max));
  }
  return accepted;
}

}  // namespace

Parsed note_field(Field& field, const SectionRules& rules, SectionFacts& facts) {
  switch (field.id) {
    case FieldId::host: return rules.request ? note_host(field, facts) : accepted;
    case FieldId::content_length: return note_content_length(field, facts);
    case FieldId::transfer_encoding: field.hop = true; return note_transfer_encoding(field, rules.minor, facts);
    case FieldId::connection: field.hop = true; return note_connection(field, facts);
    case FieldId::expect: return rules.request ? note_expect(field, rules.minor, facts) : accepted;
    case FieldId::upgrade: return note_upgrade(field, facts);
    case FieldId::te:
      field.hop = true;
      facts.te_trailers = facts.te_trailers || list_has_token(field.value, "trailers");
      return accepted;
    case FieldId::keep_alive: field.hop = true; return note_keep_alive(field, facts);
    case FieldId::proxy_connection: field.hop = true; return accepted;
    default: return accepted;
  }
}

namespace {

// RFC 9110 7.6.1: fields that Connection names belong to this connection only.
void mark_nominated(Fields& fields) {
  for (const Field& connection : fields.all()) {
    if (connection.id != FieldId::connection) continue;
    ListWalk walk(connection.value);
    for (std::string_view option; walk.next(option);) {
      if (option.empty()) continue;
      for (Field& field : fields.all()) {
        if (equals_ignoring_case(field.name, option)) field.hop = true;
      }
    }
  }
}

}  // namespace

Parsed read_section(std::string_view bytes, const char* at, const SectionRules& rules, Fields& fields,
                    SectionFacts& facts) {
  const char* end = bytes.data() + bytes.size();
  const std::size_t fields_limit = std::min<std::size_t>(rules.fields_limit, fields_max);
  while (true) {
    FieldLine line = read_field_line(at, end);
    if (line.status == FieldLine::Status::incomplete) return {};
    if (line.status == FieldLine::Status::refused) return refused_request(line.why);
    at = line.next;
    if (line.status == FieldLine::Status::empty) break;
    if (fields.size() >= fields_limit) return refused(Cause::client_head_too_large, "too many fields");
    if (line.field.id != FieldId::other) {
      const Parsed verdict = note_field(line.field, rules, facts);
      if (verdict.status == Parsed::Status::refused) return verdict;
    }
    fields.add(line.field);
  }
  if (facts.nominates) mark_nominated(fields);
  return {.status = Parsed::Status::complete, .consumed = static_cast<std::uint32_t>(at - bytes.data())};
}

}  // namespace ebb::wire
