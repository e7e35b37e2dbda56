// Limits the stalls of open sockets whose programs have keepalive times of their own, look by look: what the program in
// the kernel (arm_program.h) does at the time-out itself. Whatever is still limited at the end of this object is not
// afterwards.
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

  // From now on, until it is no longer there. `limited`: somebody before us has done it.
  void follow(const census::Process& process, const census::Socket& socket, bool limited);
  // Returns how many were limited.
  std::uint64_t sweep(const census::Sample& sample);
  // Whether a limit is set that a sweep has to take back.
  bool any_limited() const;

 private:
  struct Followed {
    census::Process process;
    census::Socket socket;
    bool limited = false;
    std::uint64_t seen = 0;  // the look that it was last seen in
  };
  void limit(Followed& one, census::Twins& twins) const;
  void lift(Followed& one, census::Twins& twins) const;

  const std::uint32_t timeout_ms_;
  std::uint64_t looks_ = 0;
  std::unordered_map<std::uint64_t, Followed> followed_;  // by cookie
};

}  // namespace ebb::reap
