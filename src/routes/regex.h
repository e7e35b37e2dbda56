// Regular expressions in RE2's syntax, matched against a whole text. RE2 needs linear time and bounded memory for any
// expression, so a request cannot make matching expensive.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace re2 {
class RE2;
}

namespace ebb::routes {

class Regex {
 public:
  // The error is RE2's message.
  static std::expected<Regex, std::string> compile(std::string_view pattern);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  bool matches(std::string_view text) const;

 private:
  explicit Regex(std::unique_ptr<const re2::RE2> compiled);
  std::unique_ptr<const re2::RE2> compiled_;
};

// The expressions of one snapshot, each compiled once.
class Regexes {
 public:
  // Valid as long as this table. The pattern must compile.
  const Regex* get(const std::string& pattern);

 private:
  std::unordered_map<std::string, std::unique_ptr<const Regex>> by_pattern_;
};

}  // namespace ebb::routes
