// The only source of time (tools/tidy bans all others), so that the simulator controls it.
#pragma once

#include <chrono>
#include <cstdint>

namespace ebb::base {

using Duration = std::chrono::nanoseconds;

struct Monotonic {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<Monotonic>;
  static constexpr bool is_steady = true;
};
using Instant = std::chrono::time_point<Monotonic>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;    // never goes back
  virtual WallTime wall() const = 0;  // for people and logs only
};

// The machine's own clocks.
class SystemClock final : public Clock {
 public:
  Instant now() const override;
  WallTime wall() const override;
};

class FakeClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  WallTime wall() const override { return WallTime{} + std::chrono::hours{24 * 365 * 50} + now_.time_since_epoch(); }
  void advance(Duration by) { now_ += by; }
  void set(Instant to) { now_ = to; }

 private:
  Instant now_{};
};

constexpr std::int64_t to_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace ebb::base
