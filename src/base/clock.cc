#include "base/clock.h"

#include <ctime>

namespace ebb::base {

namespace {

Duration read(clockid_t id) {
  timespec spec{};
  clock_gettime(id, &spec);
  return std::chrono::seconds{spec.tv_sec} + std::chrono::nanoseconds{spec.tv_nsec};
}

}  // namespace

Instant SystemClock::now() const { return Instant{read(CLOCK_MONOTONIC)}; }
WallTime SystemClock::wall() const { return WallTime{read(CLOCK_REALTIME)}; }

}  // namespace ebb::base
