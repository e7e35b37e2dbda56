// Takes a Sample from the kernel.
#pragma once

#include <expected>
#include <span>

#include "census/sample.h"
#include "census/spaces.h"

namespace ebb::census {

struct CollectOptions {
  static constexpr std::size_t sockets_max = 2'000'000;
  // Also read options of sockets without a timer: nothing ends those whatever the options, but users may want to see
  // them.
  bool options_of_all = false;
};

// The error: nothing could be read. Missing parts are in the notes of the sample.
std::expected<Sample, std::string> collect(std::span<const SpaceName> spaces, const base::Clock& clock,
                                           const CollectOptions& options);

}  // namespace ebb::census
