// Selects sockets by words such as `state=established peer=10.1.0.0/16 verdict=stale`, all of which must match.
#pragma once

#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "census/census.h"

namespace ebb::census {

class Filter {
 public:
  // Keys: state, verdict, process, pid, netns, local, peer, port. A word without a key matches the process name and
  // both addresses. `!` before a word negates it. The error names the invalid word.
  static std::expected<Filter, std::string> parse(std::span<const std::string> words);

  bool admits(const Census& census, std::size_t index) const;
  std::vector<std::uint32_t> select(const Census& census) const;

 private:
  using Test = std::function<bool(const Census&, const Socket&, const Classification&)>;
  static std::expected<Test, std::string> parse_word(std::string_view word);

  std::vector<Test> tests_;
};

}  // namespace ebb::census
