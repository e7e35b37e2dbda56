// Any bytes as JSON: no crash, the limits hold, and what was read is read again the same after it was written.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "wire/json_reader.h"

using namespace ebb;
using wire::JsonValue;

namespace {

// Written with nothing but the escapes that JSON asks for.
void write(const JsonValue& value, std::string& out) {
  const auto write_text = [&out](std::string_view text) {
    out += '"';
    for (const char byte : text) {
      if (byte == '"' || byte == '\\') out += '\\';
      if (static_cast<unsigned char>(byte) < 0x20) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
      } else {
        out += byte;
      }
    }
    out += '"';
  };
  switch (value.kind) {
    case JsonValue::Kind::null: out += "null"; return;
    case JsonValue::Kind::boolean: out += value.truth ? "true" : "false"; return;
    case JsonValue::Kind::number: out += value.text; return;
    case JsonValue::Kind::text: write_text(value.text); return;
    case JsonValue::Kind::array: break;
    case JsonValue::Kind::object: break;
  }
  const bool object = value.kind == JsonValue::Kind::object;
  out += object ? '{' : '[';
  std::string_view comma;
  for (const JsonValue& item : value.items) {
    out += std::exchange(comma, ",");
    write(item, out);
  }
  for (const wire::JsonMember& member : value.members) {
    out += std::exchange(comma, ",");
    write_text(member.name);
    out += ':';
    write(member.value, out);
  }
  out += object ? '}' : ']';
}

std::uint32_t depth_of(const JsonValue& value) {
  std::uint32_t deepest = 0;
  for (const JsonValue& item : value.items) deepest = std::max(deepest, depth_of(item));
  for (const wire::JsonMember& member : value.members) deepest = std::max(deepest, depth_of(member.value));
  return deepest + 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto value = wire::read_json(bytes);
  if (!value) {
    EBB_ASSERT(value.error().at <= size);
    return 0;
  }
  EBB_ASSERT(depth_of(*value) <= wire::JsonLimits{}.depth);
  std::string first;
  write(*value, first);
  const auto again = wire::read_json(first);
  EBB_ASSERT(again);
  std::string second;
  write(*again, second);
  EBB_ASSERT(first == second);
  return 0;
}
