// One field line, and the small grammars inside field values. For heads (h1_section) and trailers (h1_body).
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/h1_head.h"

namespace ebb::wire {

struct FieldLine {
  enum class Status : std::uint8_t { incomplete, field, empty, refused };
  Status status = Status::incomplete;
  Field field;
  const char* next = nullptr;  // field, empty: behind the line's CRLF
  const char* why = "";        // refused
};

// Reads the line that begins at `at`. A refusal depends only on the line's first offending byte, so more input does not
// change it.
FieldLine read_field_line(const char* at, const char* end);

FieldId field_id(std::string_view name);
// X-Client-Certificate and all names that begin so: only the router may state facts about a client's certificate. Any
// mark counts as a dash, as for FieldId::twin.
bool names_client_certificate(std::string_view name);
// Equal for a program behind an interface such as CGI: case is ignored, and any mark counts as a dash.
bool reads_as(std::string_view name, std::string_view other);
Method method_of(std::string_view text);

bool is_token(std::string_view text);
bool is_field_value(std::string_view text);  // may be empty; no surrounding blanks

inline constexpr std::size_t trailer_bytes_max = 8192;
// RFC 9110 6.5.1; other fields are dropped from trailers.
bool may_be_trailer(const Field& field);

// Digits only, at most 2^63-1 (RFC 9110 8.6); leading zeros are harmless.
bool read_content_length(std::string_view value, std::uint64_t& length);

// uri-host [":" port] of RFC 9110 7.2, without ambiguous parts: percent-encoding, sub-delims, an empty host or port.
bool valid_authority(std::string_view authority);

// Removes surrounding spaces and tabs (OWS, RFC 9110 section 5.6.3).
std::string_view without_blanks(std::string_view text);

// Walks a comma-separated list: elements without surrounding white space, including empty ones.
class ListWalk {
 public:
  explicit ListWalk(std::string_view list) : rest_(list) {}
  bool next(std::string_view& element);

 private:
  std::string_view rest_;
  bool ended_ = false;
};

}  // namespace ebb::wire
