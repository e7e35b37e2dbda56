// Options of commands that are durations, in the format of the configuration. The error is a sentence for the user.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>

#include "base/clock.h"
#include "config/values.h"

namespace ebb::app {

template <class T = void>
using Outcome = std::expected<T, std::string>;

inline Outcome<base::Duration> duration(const char* option, const std::string& text) {
  const auto parsed = config::TimeoutFormat::parse(text, {});
  if (!parsed) return std::unexpected(fmt::format("{}: {}; {}", option, parsed.error().reason, parsed.error().remedy));
  return *parsed;
}

}  // namespace ebb::app
