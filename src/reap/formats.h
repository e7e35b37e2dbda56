// Formats that both files use.
#pragma once

#include "config/keys.h"
#include "reap/policy.h"

namespace ebb::reap {

inline void read_label(config::Reader& reader, const config::Node& node, Label& label) {
  config::read_scalar<config::TextFormat>(reader, node, label.value);
}

// A duration of at least `seconds_min` and at most a year: added to a point in time it does not overflow.
template <int seconds_min>
struct TimeFormat {
  static std::string type() { return config::DurationFormat::type(); }
  static config::Parsed<base::Duration> parse(std::string_view text, const config::Surroundings& surroundings) {
    constexpr std::chrono::seconds least{seconds_min};
    constexpr std::chrono::hours most{24 * 365};
    auto parsed = config::DurationFormat::parse(text, surroundings);
    if (!parsed || (*parsed >= least && *parsed <= most)) return parsed;
    return std::unexpected(
        config::Complaint{"expected " + show(least) + " to " + show(most), "write for example `30s`"});
  }
  static std::string show(base::Duration value) { return config::DurationFormat::show(value); }
};

}  // namespace ebb::reap
