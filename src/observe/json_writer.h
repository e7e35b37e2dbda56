// Writes JSON value by value and adds the commas. Text of unknown origin is escaped so that a terminal does not act on
// it (text_escape.h).
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

#include "observe/text_escape.h"

namespace ebb::observe {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  // Names come from our own code: plain, so they need no escaping.
  JsonWriter& key(std::string_view name) {
    before();
    out_ += '"';
    out_ += name;
    out_ += "\":";
    comma_ = false;
    return *this;
  }

  JsonWriter& value(std::string_view text) {
    before();
    out_ += '"';
    append_json_escaped(out_, text);
    out_ += '"';
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::same_as<bool> auto truth) { return raw(truth ? "true" : "false"); }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  JsonWriter& value(Number number) {
    const fmt::format_int digits(number);
    return raw({digits.data(), digits.size()});
  }
  JsonWriter& value(base::WallTime at) {
    before();
    out_ += '"';
    append_rfc3339(out_, at);
    out_ += '"';
    return *this;
  }
  JsonWriter& number(std::string_view digits) { return raw(digits); }
  JsonWriter& null() { return raw("null"); }

  template <class Value>
  JsonWriter& member(std::string_view name, const Value& what) {
    return key(name).value(what);
  }

 private:
  void before() {
    if (comma_) out_ += ',';
    comma_ = true;
  }
  JsonWriter& raw(std::string_view word) {
    before();
    out_ += word;
    return *this;
  }
  JsonWriter& open(char bracket) {
    before();
    out_ += bracket;
    comma_ = false;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
  }

  std::string& out_;
  bool comma_ = false;
};

}  // namespace ebb::observe
