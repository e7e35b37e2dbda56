// Strict JSON (RFC 8259): a single value, UTF-8, every name of an object once. Bounded in depth and in the number of
// values; the size of the text is the caller's to bound.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace ebb::wire {

struct JsonMember;

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, number, text, array, object };
  Kind kind = Kind::null;
  bool truth = false;
  std::string text;  // of a number: its digits as they were sent
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;

  const JsonValue* find(std::string_view name) const;  // nullptr: none of that name, or this is no object
  bool is_text() const { return kind == Kind::text; }
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

struct JsonLimits {
  std::uint32_t depth = 16;
  std::uint32_t values = 10'000;
};

struct JsonFault {
  std::size_t at = 0;  // byte of the text
  const char* why = "";
};

std::expected<JsonValue, JsonFault> read_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace ebb::wire
