// Samples as lines of JSON: a line that begins a sample, then one per namespace, process and socket. The input is a
// file, so it is not trusted: unknown names, numbers out of range and missing parts are refused.
#pragma once

#include <expected>
#include <istream>
#include <optional>
#include <string>

#include "census/sample.h"
#include "census/table.h"

namespace ebb::census {

void record(const Sample& sample, const Print& print);

class Recording {
 public:
  static constexpr std::size_t line_bytes_max = 16 * 1024;
  static constexpr std::size_t sockets_max = 2'000'000;

  explicit Recording(std::istream& in) : in_(in) {}
  // Empty at the end. The error names the line.
  std::expected<std::optional<Sample>, std::string> next();

 private:
  bool read_line(std::string& line);
  std::unexpected<std::string> refuse(const std::string& why) const;

  std::istream& in_;
  std::string pending_;  // the first line of the next sample
  std::size_t number_ = 0;
};

}  // namespace ebb::census
