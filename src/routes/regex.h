// Regular expressions in RE2's syntax, matched against a whole text. RE2 takes time that is linear in the text and
// memory that is bounded, whatever the expression: a request cannot make one expensive.
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
  // The error is in RE2's own words.
  static std::expected<Regex, std::string> compile(std::string_view pattern);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  bool matches(std::string_view text) const;

 private:
  explicit Regex(std::unique_ptr<const re2::RE2> compiled);
  std::unique_ptr<const re2::RE2> compiled_;
};

// The expressions of one snapshot, each compiled once however often it is used.
class Regexes {
 public:
  // Valid as long as this table. The pattern is one that compiles.
  const Regex* get(const std::string& pattern);

 private:
  std::unordered_map<std::string, std::unique_ptr<const Regex>> by_pattern_;
};

}  // namespace ebb::routes
