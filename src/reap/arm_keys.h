// The keys of `arm` in the policy file.
#pragma once

#include "config/keys.h"
#include "reap/policy.h"

namespace ebb::reap {

// A duration within limits, as a whole number of the kernel's unit.
template <class Unit, std::uint32_t least, std::uint32_t most>
struct KernelTimeFormat {
  static std::string type() { return config::DurationFormat::type(); }
  static config::Parsed<std::uint32_t> parse(std::string_view text, const config::Surroundings& surroundings) {
    const auto parsed = config::DurationFormat::parse(text, surroundings);
    if (!parsed) return std::unexpected(parsed.error());
    if (*parsed >= Unit{least} && *parsed <= Unit{most} && *parsed % Unit{1} == base::Duration{}) {
      return static_cast<std::uint32_t>(*parsed / Unit{1});
    }
    const std::string range = show(least) + " to " + show(most);
    return std::unexpected(config::Complaint{"expected a whole number of " + show(1) + " from " + range,
                                             "write `" + show(least) + "` or more"});
  }
  static std::string show(std::uint32_t value) { return config::DurationFormat::show(Unit{value}); }
};

struct ProbesFormat {
  static std::string type() { return config::CountFormat::type(); }
  static config::Parsed<std::uint32_t> parse(std::string_view text, const config::Surroundings& surroundings) {
    constexpr std::uint32_t kernel_max = 127;  // MAX_TCP_KEEPCNT
    auto parsed = config::CountFormat::parse(text, surroundings);
    if (!parsed || (*parsed >= 1 && *parsed <= kernel_max)) return parsed;
    return std::unexpected(config::Complaint{"expected 1 to 127", "write `4`"});
  }
  static std::string show(std::uint32_t value) { return config::CountFormat::show(value); }
};

using ArmTimeout = KernelTimeFormat<std::chrono::milliseconds, 1'000, 3'600'000>;
using ArmSeconds = KernelTimeFormat<std::chrono::seconds, 1, 3'600>;
using ArmRtoMax = KernelTimeFormat<std::chrono::milliseconds, 1'000, 120'000>;  // the kernel's limits

inline constexpr config::Key<ArmLimits> arm_keys[] = {
    {"timeout", config::scalar<ArmTimeout, &ArmLimits::user_timeout_ms>,
     "`TCP_USER_TIMEOUT`: the kernel ends a connection whose data or keepalive gets no answer for this time"},
    {"idle", config::scalar<ArmSeconds, &ArmLimits::keepalive_idle_s>,
     "time without data until the first keepalive probe"},
    {"interval", config::scalar<ArmSeconds, &ArmLimits::keepalive_interval_s>, "interval between keepalive probes"},
    {"probes", config::scalar<ProbesFormat, &ArmLimits::keepalive_probes>,
     "number of keepalive probes; counts only for programs that set `TCP_USER_TIMEOUT` back to 0"},
    {"rto_max", config::scalar<ArmRtoMax, &ArmLimits::rto_max_ms>,
     "longest time between two retransmissions of the same data (Linux 6.15 and later)"},
};

// The first probe may be lost: the kernel ends a connection at the first probe after the time-out.
inline constexpr config::Value<Policy> arm_section = {
    [] { return std::string("mapping"); },
    [](config::Reader& reader, const config::Node& node, Policy& policy) {
      config::optional_section<&Policy::arm, arm_keys>.read(reader, node, policy);
      const ArmLimits& limits = *policy.arm;
      const std::uint64_t third_ms =
          (std::uint64_t{limits.keepalive_idle_s} + 2 * std::uint64_t{limits.keepalive_interval_s}) * 1000;
      if (reader.failed() || third_ms <= limits.user_timeout_ms) return;
      reader.refuse(node.mark, "there is no time for a second probe",
                    "let `timeout` be `idle` + 2 x `interval` or more");
    },
    [](const Policy&) { return std::string(); },
};

}  // namespace ebb::reap
