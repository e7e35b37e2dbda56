// The field section of a head: reads the lines and gathers the facts about framing and the connection. Requests and
// responses use the same rules.
//
// Before: h1_request, h1_response (the first line). Next: the same files, which draw the conclusions.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/h1_head.h"

namespace ebb::wire {

// The facts in the fields, before conclusions about the message.
struct SectionFacts {
  bool has_length = false;
  bool chunked = false;
  std::uint64_t content_length = 0;
  std::string_view host;  // requests: the validated value
  std::string_view upgrade;
  bool has_host = false;
  bool has_upgrade = false;
  bool wants_close = false;  // connection options
  bool wants_keep_alive = false;
  bool wants_upgrade = false;
  bool expects_continue = false;
  bool te_trailers = false;
  bool nominates = false;  // a connection option is the name of a field
  std::uint32_t connection_options = 0;
  std::uint32_t idle_seconds = 0;  // Keep-Alive: timeout=N

  bool keep_alive(std::uint8_t minor) const { return !wants_close && (minor >= 1 || wants_keep_alive); }
};

struct SectionRules {
  bool request = true;
  std::uint8_t minor = 1;
  std::uint32_t fields_limit = 0;
};

// Reads from `at` to the empty line. `consumed` counts from bytes.data().
Parsed read_section(std::string_view bytes, const char* at, const SectionRules& rules, Fields& fields,
                    SectionFacts& facts);

// Takes the facts of one field that has an id. h2_heads uses this too, so HTTP/2 refuses what HTTP/1 would refuse. If
// accepted, `status` is incomplete.
Parsed note_field(Field& field, const SectionRules& rules, SectionFacts& facts);

// Resets the head. `fields` keeps its 10 KiB of bytes: clearing the count is enough.
void clear(RequestHead& head);
void clear(ResponseHead& head);

inline Parsed refused(base::Cause cause, const char* why) {
  return {.status = Parsed::Status::refused, .cause = cause, .why = why};
}

}  // namespace ebb::wire
