#include "wire/h1_field.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "wire/h1_scan.h"

namespace ebb::wire {
namespace {

struct Known {
  std::string_view name;
  FieldId id = FieldId::other;
};

constexpr Known known_fields[] = {
#define X(id, text) {text, FieldId::id},
    EBB_FIELDS(X)
#undef X
};

// A perfect hash: length, first byte and last but one (x-forwarded-host and -port differ there) distinguish the known
// names; the compiler searches for the multiplier.
constexpr std::size_t slot_count = 64;

constexpr std::size_t slot_of(std::size_t size, char first, char last_but_one, unsigned multiplier) {
  const unsigned mixed = (static_cast<unsigned>(size) << 10) ^ (static_cast<unsigned>(first & 0x1f) << 5) ^
                         static_cast<unsigned>(last_but_one & 0x1f);
  return (mixed * multiplier >> 16) % slot_count;
}

constexpr bool tells_apart(unsigned multiplier) {
  bool used[slot_count] = {};
  for (const Known& known : known_fields) {
    bool& slot = used[slot_of(known.name.size(), known.name.front(), known.name[known.name.size() - 2], multiplier)];
    if (slot) return false;
    slot = true;
  }
  return true;
}

// Otherwise a twin would hash to another slot than its name.
static_assert(std::ranges::none_of(known_fields, [](const Known& known) {
  return known.name.front() == '-' || known.name[known.name.size() - 2] == '-';
}));

constexpr unsigned multiplier = [] {
  unsigned candidate = 40503;
  while (!tells_apart(candidate)) candidate += 2;
  return candidate;
}();

constexpr std::array<Known, slot_count> slots = [] {
  std::array<Known, slot_count> table{};
  for (const Known& known : known_fields) {
    table[slot_of(known.name.size(), known.name.front(), known.name[known.name.size() - 2], multiplier)] = known;
  }
  return table;
}();

template <class Word>
Word word_at(std::string_view text, std::size_t at) {
  Word word;
  std::memcpy(&word, text.data() + at, sizeof(word));
  return word;
}

// Compares word by word; the last word overlaps the one before. For names at least as long as a word.
template <class Word>
bool words_equal(std::string_view name, std::string_view lower_case_name) {
  constexpr Word bits_5 = static_cast<Word>(0x2020202020202020);
  const std::size_t last = name.size() - sizeof(Word);
  for (std::size_t i = 0; i < last; i += sizeof(Word)) {
    if ((word_at<Word>(name, i) | bits_5) != word_at<Word>(lower_case_name, i)) return false;
  }
  return (word_at<Word>(name, last) | bits_5) == word_at<Word>(lower_case_name, last);
}

// For names of equal length. `name` holds token bytes only: among those, setting bit 5 maps only capitals onto letters
// or the hyphen.
bool is_name(std::string_view name, std::string_view lower_case_name) {
  if (name.size() >= 8) return words_equal<std::uint64_t>(name, lower_case_name);
  if (name.size() >= 4) return words_equal<std::uint32_t>(name, lower_case_name);
  return words_equal<std::uint16_t>(name, lower_case_name);
}

bool is_alphanumeric(char c) { return scan::is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); }

// CGI and similar interfaces write dashes as underscores (RFC 3875 4.1.18), and some servers all other marks too.
// Programs behind them take such a name for the known one. User-Agent is harmless.
bool is_twin(std::string_view name, const Known& known) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (known.name[i] == '-' ? is_alphanumeric(name[i]) : (name[i] | 0x20) != known.name[i]) return false;
  }
  return known.id != FieldId::user_agent;
}

const char* why_not_a_name(char offender, bool at_line_start) {
  if (at_line_start && scan::is_blank(offender)) return "line folding, or white space before a field name";
  if (at_line_start && offender == ':') return "empty field name";
  if (scan::is_blank(offender)) return "white space in a field name or before its colon";
  if (offender == '\n') return "bare LF in a field line";
  if (offender == '\r') return "field line without a colon";
  return "invalid byte in a field name";
}

FieldLine refuse(const char* why) { return {.status = FieldLine::Status::refused, .why = why}; }

FieldLine read_line_end(const char* at, const char* end) {
  if (at == end) return {};
  if (*at == '\n') return refuse("bare LF in a field line");
  if (*at != '\r') return refuse("control byte in a field value");
  if (end - at < 2) return {};
  if (at[1] != '\n') return refuse("bare CR in a field line");
  return {.status = FieldLine::Status::empty, .next = at + 2};
}

bool valid_port(std::string_view port) {
  if (port.empty() || port.size() > 5) return false;
  unsigned number = 0;
  for (const char c : port) {
    if (!scan::is_digit(c)) return false;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  return number <= std::numeric_limits<std::uint16_t>::max();
}

bool valid_ipv6(std::string_view text) {
  char terminated[INET6_ADDRSTRLEN] = {};
  if (text.size() >= sizeof terminated || text.contains('\0')) return false;
  std::memcpy(terminated, text.data(), text.size());
  in6_addr address;
  return inet_pton(AF_INET6, terminated, &address) == 1;
}

// RFC 9110 6.5.1: a recipient needs these before the content. Framing, routing, authentication, request modifiers,
// content format, and connection fields.
constexpr std::string_view forbidden_in_trailers[] = {
    "accept-encoding",
    "age",
    "authorization",
    "cache-control",
    "content-encoding",
    "content-range",
    "content-type",
    "cookie",
    "expires",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "retry-after",
    "set-cookie",
    "vary",
    "www-authenticate",
};

}  // namespace

FieldId field_id(std::string_view name) {
  if (name.size() < 2) return FieldId::other;
  const Known& known = slots[slot_of(name.size(), name.front(), name[name.size() - 2], multiplier)];
  if (known.name.size() != name.size()) return FieldId::other;
  if (is_name(name, known.name)) return known.id;
  return is_twin(name, known) ? FieldId::twin : FieldId::other;  // the hash ignores the marks of a name
}

bool names_client_certificate(std::string_view name) {
  constexpr std::string_view family = "x-client-certificate";
  if (name.size() < family.size() || (name.front() | 0x20) != family.front()) return false;
  for (std::size_t i = 0; i < family.size(); ++i) {
    if (family[i] == '-' ? is_alphanumeric(name[i]) : (name[i] | 0x20) != family[i]) return false;
  }
  return true;
}

bool reads_as(std::string_view name, std::string_view other) {
  const auto folded = [](char c) { return is_alphanumeric(c) ? scan::lower(c) : '-'; };
  return std::ranges::equal(name, other, {}, folded, folded);
}

Method method_of(std::string_view text) {
  switch (text.size()) {
    case 3: return text == "GET" ? Method::get : text == "PUT" ? Method::put : Method::other;
    case 4: return text == "POST" ? Method::post : text == "HEAD" ? Method::head : Method::other;
    case 5: return text == "PATCH" ? Method::patch : text == "TRACE" ? Method::trace : Method::other;
    case 6: return text == "DELETE" ? Method::delete_ : Method::other;
    case 7: return text == "OPTIONS" ? Method::options : text == "CONNECT" ? Method::connect : Method::other;
    default: return Method::other;
  }
}

bool is_token(std::string_view text) {
  const char* end = text.data() + text.size();
  return !text.empty() && scan::skip_token(text.data(), end) == end;
}

bool is_field_value(std::string_view text) {
  if (text.empty()) return true;
  const char* end = text.data() + text.size();
  return !scan::is_blank(text.front()) && !scan::is_blank(text.back()) && scan::skip_value(text.data(), end) == end;
}

// Of the fields that the router knows, only Referer and User-Agent do not affect the message.
bool may_be_trailer(const Field& field) {
  if (field.id != FieldId::other) return field.id == FieldId::referer || field.id == FieldId::user_agent;
  if (names_client_certificate(field.name)) return false;
  return std::ranges::none_of(forbidden_in_trailers,
                              [&](std::string_view name) { return equals_ignoring_case(field.name, name); });
}

FieldLine read_field_line(const char* at, const char* end) {
  if (at != end && *at == '\r') return read_line_end(at, end);
  const char* name_end = scan::skip_token(at, end);
  if (name_end == end) return {};
  if (*name_end != ':' || name_end == at) return refuse(why_not_a_name(*name_end, name_end == at));

  const char* value = scan::skip_blanks(name_end + 1, end);
  const char* value_end = scan::skip_value(value, end);
  FieldLine line = read_line_end(value_end, end);
  if (line.status != FieldLine::Status::empty) return line;
  while (value_end != value && scan::is_blank(value_end[-1])) --value_end;
  line.status = FieldLine::Status::field;
  line.field.name = {at, name_end};
  line.field.value = {value, value_end};
  line.field.id = field_id(line.field.name);
  return line;
}

bool read_content_length(std::string_view value, std::uint64_t& length) {
  constexpr std::uint64_t length_max = std::numeric_limits<std::int64_t>::max();
  if (value.empty()) return false;
  std::uint64_t sum = 0;
  for (const char c : value) {
    if (!scan::is_digit(c)) return false;
    const std::uint64_t digit = static_cast<std::uint64_t>(c - '0');
    if (sum > (length_max - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  length = sum;
  return true;
}

bool valid_authority(std::string_view authority) {
  std::string_view port_part;
  if (authority.starts_with('[')) {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos || !valid_ipv6(authority.substr(1, bracket - 1))) return false;
    port_part = authority.substr(bracket + 1);
  } else {
    const char* end = authority.data() + authority.size();
    const char* host_end = scan::skip(authority.data(), end, scan::host_byte);
    const std::string_view host(authority.data(), host_end);
    // One trailing dot stands for the root. More would give a name that is new to the routes but equal for servers that
    // drop all dots.
    if (host.empty() || host.front() == '.' || host.contains("..")) return false;
    port_part = {host_end, end};
  }
  return port_part.empty() || (port_part.front() == ':' && valid_port(port_part.substr(1)));
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && scan::is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && scan::is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool ListWalk::next(std::string_view& element) {
  if (ended_) return false;
  const std::size_t comma = rest_.find(',');
  ended_ = comma == std::string_view::npos;
  element = without_blanks(rest_.substr(0, comma));
  if (!ended_) rest_.remove_prefix(comma + 1);
  return true;
}

const Field* Fields::find(FieldId id) const {
  for (const Field& field : all()) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

const Field* Fields::find(std::string_view lower_case_name) const {
  for (const Field& field : all()) {
    if (equals_ignoring_case(field.name, lower_case_name)) return &field;
  }
  return nullptr;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (scan::lower(a[i]) != scan::lower(b[i])) return false;
  }
  return true;
}

bool list_has_token(std::string_view list, std::string_view token) {
  ListWalk walk(list);
  for (std::string_view element; walk.next(element);) {
    if (equals_ignoring_case(element, token)) return true;
  }
  return false;
}

}  // namespace ebb::wire
