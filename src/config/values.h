// The formats of values in the file: text to value, value to text (for the defaults in the reference), and the message
// for a wrong text. A format is a type with `type`, `parse` and `show`; table.h joins it to a member.
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "base/address.h"
#include "base/clock.h"
#include "config/suggest.h"
#include "config/text_files.h"
#include "routes/policy_model.h"

namespace ebb::config {

// `reason` states the expected value; the reader adds the value found.
struct Complaint {
  std::string reason;
  std::string remedy;
};

template <class T>
using Parsed = std::expected<T, Complaint>;

// Resolves names to addresses; blocking, so for the control plane only. The error is the resolver's message.
using Resolve = std::function<std::expected<base::Address, std::string>(const std::string& host, std::uint16_t port)>;
std::expected<base::Address, std::string> resolve_by_system(const std::string& host, std::uint16_t port);

// Facts besides the text that a value may depend on.
struct Surroundings {
  std::filesystem::path folder;  // of the file: relative paths start here
  Resolve resolve = resolve_by_system;
  std::shared_ptr<TextFiles> texts = std::make_shared<TextFiles>();
};

struct DurationFormat {
  static std::string type() { return "duration"; }
  static Parsed<base::Duration> parse(std::string_view text, const Surroundings&);
  static std::string show(base::Duration value);
};

// As DurationFormat, for values that must be above zero if given.
struct TimeoutFormat {
  static std::string type() { return DurationFormat::type(); }
  static Parsed<base::Duration> parse(std::string_view text, const Surroundings& surroundings);
  static std::string show(base::Duration value) { return DurationFormat::show(value); }
};

// As DurationFormat, for intervals: 0 for never, else at least a second.
struct PeriodFormat {
  static std::string type() { return DurationFormat::type(); }
  static Parsed<base::Duration> parse(std::string_view text, const Surroundings& surroundings);
  static std::string show(base::Duration value) { return DurationFormat::show(value); }
};

Parsed<std::uint64_t> parse_size(std::string_view text, std::uint64_t max);
std::string show_size(std::uint64_t bytes);
Parsed<std::uint64_t> parse_count(std::string_view text, std::uint64_t max);

template <class Number>
struct SizeFormat {
  static std::string type() { return "size"; }
  static Parsed<Number> parse(std::string_view text, const Surroundings&) {
    return parse_size(text, std::numeric_limits<Number>::max());
  }
  static std::string show(Number value) { return show_size(value); }
};

struct CountFormat {
  static std::string type() { return "number"; }
  static Parsed<std::uint32_t> parse(std::string_view text, const Surroundings&) {
    return parse_count(text, std::numeric_limits<std::uint32_t>::max());
  }
  static std::string show(std::uint32_t value) { return std::to_string(value); }
};

// `auto` is 0.
struct WorkersFormat {
  static std::string type() { return "`auto` or number"; }
  static Parsed<std::uint32_t> parse(std::string_view text, const Surroundings&);
  static std::string show(std::uint32_t value) { return value == 0 ? "auto" : std::to_string(value); }
};

struct TextFormat {
  static std::string type() { return "text"; }
  static Parsed<std::string> parse(std::string_view text, const Surroundings&) { return std::string(text); }
  static std::string show(const std::string& value) { return value; }
};

struct FileFormat {
  static std::string type() { return "file"; }
  static Parsed<std::string> parse(std::string_view text, const Surroundings& surroundings);
  static std::string show(const std::string& value) { return value; }
};

// A file whose content is read with the configuration.
struct TextFileFormat {
  static std::string type() { return "file"; }
  static Parsed<routes::TextFile> parse(std::string_view text, const Surroundings& surroundings);
  static std::string show(const routes::TextFile& value) { return value.path; }
};

// As FileFormat, and "-" is standard output.
struct OutputFormat {
  static std::string type() { return "file or `-`"; }
  static Parsed<std::string> parse(std::string_view text, const Surroundings& surroundings);
  static std::string show(const std::string& value) { return value.empty() ? "-" : value; }
};

// An address of this machine: numbers only, because a name could resolve to another address later.
struct BindFormat {
  static std::string type() { return "address"; }
  static Parsed<base::Address> parse(std::string_view text, const Surroundings&);
  static std::string show(const base::Address& value) { return value.valid() ? value.text() : ""; }
};

// An endpoint's address. Names are resolved once, when the file is read.
struct EndpointAddressFormat {
  static std::string type() { return "address"; }
  static Parsed<base::Address> parse(std::string_view text, const Surroundings& surroundings);
  static std::string show(const base::Address& value) { return value.valid() ? value.text() : ""; }
};

struct NetworkFormat {
  static std::string type() { return "network"; }
  static Parsed<routes::Cidr> parse(std::string_view text, const Surroundings&);
  static std::string show(const routes::Cidr& value) { return value.text(); }
};

// "404", or "5xx" for a class.
struct StatusFormat {
  static std::string type() { return "status or `4xx`, `5xx`"; }
  static Parsed<routes::StatusRange> parse(std::string_view text, const Surroundings&);
  static std::string show(const routes::StatusRange&) { return ""; }
};

// "204", or "2xx" for a class: any final answer.
struct AnswerStatusFormat {
  static std::string type() { return "status or `2xx` to `5xx`"; }
  static Parsed<routes::StatusRange> parse(std::string_view text, const Surroundings&);
  static std::string show(const routes::StatusRange&) { return ""; }
};

// For an optional member.
template <class Format>
struct Optional {
  static std::string type() { return Format::type(); }
  static auto parse(std::string_view text, const Surroundings& surroundings) {
    return Format::parse(text, surroundings);
  }
  static std::string show(const auto& value) { return value ? Format::show(*value) : ""; }
};

// The words of an enumeration (or of a flag) in the order of its values.
template <class Enum, const auto& words>
struct ChoiceFormat {
  static std::string type() {
    std::string text;
    for (const std::string_view word : words) text += (text.empty() ? "`" : ", `") + std::string(word) + "`";
    return text;
  }
  static Parsed<Enum> parse(std::string_view text, const Surroundings&) {
    for (std::size_t i = 0; i < std::size(words); ++i) {
      if (words[i] == text) return static_cast<Enum>(i);
    }
    return std::unexpected(Complaint{"expected " + type(), suggest(text, words)});
  }
  static std::string show(Enum value) { return std::string(words[static_cast<std::size_t>(value)]); }
};

}  // namespace ebb::config
