#include "routes/regex.h"

#include <re2/re2.h>

#include "base/assert.h"

namespace ebb::routes {

namespace {

constexpr std::size_t pattern_bytes_max = 1024;
// For the program and its caches. RE2's default, 8 MiB for each, is meant for a few expressions, not for thousands.
constexpr std::int64_t memory_bytes_max = 1 << 20;

re2::RE2::Options options() {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // paths and fields are octets
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(memory_bytes_max);
  return options;
}

}  // namespace

Regex::Regex(std::unique_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

std::expected<Regex, std::string> Regex::compile(std::string_view pattern) {
  if (pattern.size() > pattern_bytes_max) {
    return std::unexpected("longer than " + std::to_string(pattern_bytes_max) + " characters");
  }
  auto compiled = std::make_unique<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options());
  if (!compiled->ok()) return std::unexpected(compiled->error());
  return Regex(std::move(compiled));
}

bool Regex::matches(std::string_view text) const {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

const Regex* Regexes::get(const std::string& pattern) {
  std::unique_ptr<const Regex>& slot = by_pattern_[pattern];
  if (slot == nullptr) {
    auto compiled = Regex::compile(pattern);
    EBB_ASSERT(compiled);
    slot = std::make_unique<const Regex>(std::move(*compiled));
  }
  return slot.get();
}

}  // namespace ebb::routes
