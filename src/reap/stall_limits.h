// Limits the stalls of open sockets whose programs have their own keepalive times, look by look; arm_program.h does the
// same in the kernel at the time-out itself. The destructor lifts all limits.
#pragma once

#include <unordered_map>

#include "census/owners.h"
#include "census/sample.h"
#include "census/twins.h"
#include "reap/arm_limits.h"

namespace ebb::reap {

class StallLimits {
 public:
  explicit StallLimits(const ArmLimits& limits) : timeout_ms_(stall_timeout_ms(limits)) {}
  ~StallLimits();
  StallLimits(const StallLimits&) = delete;
  StallLimits& operator=(const StallLimits&) = delete;

  // Follows the socket until it is gone. `limited`: an earlier process has limited it.
  void follow(const census::Process& process, const census::Socket& socket, bool limited);
  // Returns how many were limited.
  std::uint64_t sweep(const census::Sample& sample);
  // Whether a sweep has to lift a limit.
  bool any_limited() const;

 private:
  struct Followed {
    census::Process process;
    census::Socket socket;
    bool limited = false;
    std::uint64_t seen = 0;  // the last look that found it
  };
  void limit(Followed& one, census::Twins& twins) const;
  void lift(Followed& one, census::Twins& twins) const;

  const std::uint32_t timeout_ms_;
  std::uint64_t looks_ = 0;
  std::unordered_map<std::uint64_t, Followed> followed_;  // by cookie
};

}  // namespace ebb::reap
