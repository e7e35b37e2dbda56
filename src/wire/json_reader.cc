#include "wire/json_reader.h"

#include <algorithm>

namespace ebb::wire {

namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// The length of the well-formed UTF-8 sequence at the front (Unicode 15, table 3-7); 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto within = [&at](std::size_t i, unsigned low, unsigned high) { return at(i) >= low && at(i) <= high; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// Every read_ function returns false after fail().
class JsonReader {
 public:
  JsonReader(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  std::expected<JsonValue, JsonFault> read() {
    JsonValue value;
    skip_space();
    if (!read_value(value, 0)) return std::unexpected(fault_);
    skip_space();
    if (at_ != text_.size()) return std::unexpected(JsonFault{at_, "something follows the value"});
    return value;
  }

 private:
  bool fail(const char* why) {
    fault_ = {at_, why};
    return false;
  }
  bool more() const { return at_ < text_.size(); }
  bool next_is(char byte) const { return more() && text_[at_] == byte; }
  bool take(char byte) {
    if (!next_is(byte)) return false;
    at_ += 1;
    return true;
  }
  void skip_space() {
    while (more() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) at_ += 1;
  }

  bool read_value(JsonValue& value, std::uint32_t depth) {
    if (depth >= limits_.depth) return fail("it is nested too deeply");
    if (++values_ > limits_.values) return fail("there are too many values");
    if (!more()) return fail("a value is missing");
    switch (text_[at_]) {
      case '{': return read_object(value, depth);
      case '[': return read_array(value, depth);
      case '"': value.kind = JsonValue::Kind::text; return read_text(value.text);
      case 't': return read_word(value, "true", JsonValue::Kind::boolean);
      case 'f': return read_word(value, "false", JsonValue::Kind::boolean);
      case 'n': return read_word(value, "null", JsonValue::Kind::null);
      default: return read_number(value);
    }
  }

  bool read_word(JsonValue& value, std::string_view word, JsonValue::Kind kind) {
    if (!text_.substr(at_).starts_with(word)) return fail("this is no JSON value");
    value.kind = kind;
    value.truth = word == "true";
    at_ += word.size();
    return true;
  }

  bool read_digits() {
    if (!more() || !is_digit(text_[at_])) return fail("a digit is missing");
    while (more() && is_digit(text_[at_])) at_ += 1;
    return true;
  }
  bool read_number(JsonValue& value) {
    const std::size_t start = at_;
    take('-');
    if (!more() || !is_digit(text_[at_])) return fail("this is no JSON value");
    if (!take('0') && !read_digits()) return false;
    if (take('.') && !read_digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!read_digits()) return false;
    }
    value.kind = JsonValue::Kind::number;
    value.text = text_.substr(start, at_ - start);
    return true;
  }

  bool read_text(std::string& out) {
    at_ += 1;
    while (more()) {
      const char byte = text_[at_];
      if (byte == '"') {
        at_ += 1;
        return true;
      }
      if (byte == '\\') {
        if (!read_escape(out)) return false;
        continue;
      }
      if (static_cast<unsigned char>(byte) < 0x20) return fail("a control character must be escaped");
      const std::size_t length = utf8_length(text_.substr(at_));
      if (length == 0) return fail("this is not UTF-8");
      out += text_.substr(at_, length);
      at_ += length;
    }
    return fail("the closing quote is missing");
  }

  bool read_escape(std::string& out) {
    static constexpr std::string_view letters = "\"\\/bfnrt";
    static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    at_ += 1;
    if (take('u')) return read_code_point(out);
    const std::size_t which = more() ? letters.find(text_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos) return fail("there is no such escape");
    out += meanings[which];
    at_ += 1;
    return true;
  }

  bool read_hex(std::uint32_t& code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char byte = more() ? text_[at_] : '\0';
      const char lower = static_cast<char>(byte | 0x20);
      if (is_digit(byte)) {
        code = code * 16 + static_cast<std::uint32_t>(byte - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        code = code * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
      } else {
        return fail("four hexadecimal digits must follow \\u");
      }
    }
    return true;
  }
  bool read_code_point(std::string& out) {
    std::uint32_t code = 0;
    if (!read_hex(code)) return false;
    if (code >= 0xDC00 && code <= 0xDFFF) return fail("half of a surrogate pair");
    if (code >= 0xD800 && code <= 0xDBFF) {
      std::uint32_t second = 0;
      if (!take('\\') || !take('u')) return fail("half of a surrogate pair");
      if (!read_hex(second)) return false;
      if (second < 0xDC00 || second > 0xDFFF) return fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
    }
    append_utf8(out, code);
    return true;
  }

  bool read_array(JsonValue& value, std::uint32_t depth) {
    value.kind = JsonValue::Kind::array;
    at_ += 1;
    skip_space();
    if (take(']')) return true;
    for (;;) {
      skip_space();
      if (!read_value(value.items.emplace_back(), depth + 1)) return false;
      skip_space();
      if (take(']')) return true;
      if (!take(',')) return fail("a comma or ] is missing");
    }
  }

  bool read_object(JsonValue& value, std::uint32_t depth) {
    value.kind = JsonValue::Kind::object;
    at_ += 1;
    skip_space();
    if (take('}')) return true;
    for (;;) {
      skip_space();
      if (!next_is('"')) return fail("a name in quotes is missing");
      std::string name;
      if (!read_text(name)) return false;
      if (value.find(name) != nullptr) return fail("the name is there twice");
      skip_space();
      if (!take(':')) return fail("a colon is missing");
      skip_space();
      if (!read_value(value.members.emplace_back(std::move(name), JsonValue()).value, depth + 1)) return false;
      skip_space();
      if (take('}')) return true;
      if (!take(',')) return fail("a comma or } is missing");
    }
  }

  const std::string_view text_;
  const JsonLimits limits_;
  std::size_t at_ = 0;
  std::uint32_t values_ = 0;
  JsonFault fault_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &JsonMember::name);
  return found == members.end() ? nullptr : &found->value;
}

std::expected<JsonValue, JsonFault> read_json(std::string_view text, const JsonLimits& limits) {
  return JsonReader(text, limits).read();
}

}  // namespace ebb::wire
