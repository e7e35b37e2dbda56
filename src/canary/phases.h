// The duration of each part of a probe, which shows where time is lost.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "observe/counters.h"

namespace ebb::canary {

#define EBB_CANARY_PHASES(X) X(dns) X(connect) X(tls) X(first_byte) X(total)

enum class Phase : std::uint8_t {
#define X(name) name,
  EBB_CANARY_PHASES(X)
#undef X
};
inline constexpr std::string_view phase_names[] = {
#define X(name) #name,
    EBB_CANARY_PHASES(X)
#undef X
};
inline constexpr std::size_t phase_count = std::size(phase_names);

// first_byte runs from the request to the first byte of its answer; total from beginning to end. A phase that was
// skipped (an address needs no look-up, a reused connection no handshake) or not reached has no duration.
class Phases {
 public:
  const std::optional<base::Duration>& operator[](Phase phase) const { return took_[static_cast<std::size_t>(phase)]; }
  void set(Phase phase, base::Duration took) { took_[static_cast<std::size_t>(phase)] = took; }
  base::Duration total() const { return (*this)[Phase::total].value_or(base::Duration::zero()); }

 private:
  std::array<std::optional<base::Duration>, phase_count> took_;
};

// The buckets of OpenShift's `ingress_canary_check_duration`, in milliseconds.
struct CheckDurations {
  static constexpr std::array<std::int64_t, 7> bounds_ms = {25, 50, 100, 200, 400, 800, 1600};

  std::array<std::uint64_t, bounds_ms.size() + 1> buckets{};  // not cumulative; the last has no upper bound
  std::uint64_t count = 0;
  base::Duration sum{};

  void add(base::Duration took) {
    const auto* const bound =
        std::ranges::find_if(bounds_ms, [took](std::int64_t ms) { return took <= std::chrono::milliseconds{ms}; });
    buckets[static_cast<std::size_t>(bound - bounds_ms.begin())] += 1;
    count += 1;
    sum += took;
  }
};

// Of one leg.
struct PhaseHistograms {
  std::array<observe::Histogram, phase_count> phases;  // of every probe that reached the phase
  CheckDurations checks;                               // total time of successful probes

  void add(const Phases& probe, bool good) {
    for (std::size_t i = 0; i < phase_count; ++i) {
      if (const auto& took = probe[static_cast<Phase>(i)]) phases[i].add(*took);
    }
    if (good) checks.add(probe.total());
  }
};

}  // namespace ebb::canary
