// Strict JSON (RFC 8259): a single value, UTF-8, unique names in objects. Depth and number of values are bounded; the
// caller bounds the size of the text.
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
  std::string text;  // of a number: its digits as sent
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;

  const JsonValue* find(std::string_view name) const;  // nullptr: unknown name, or not an object
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
  std::size_t at = 0;  // byte offset in the text
  const char* why = "";
};

std::expected<JsonValue, JsonFault> read_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace ebb::wire
