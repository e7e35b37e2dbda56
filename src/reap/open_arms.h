// Arms open sockets through a duplicate of their descriptor: sockets older than the programs of ConnectArms, and
// sockets that the kernel cannot select by itself. Each socket is handled once; if its stalls need a limit, it is
// followed (stall_limits.h).
#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "census/owners.h"
#include "census/sample.h"
#include "reap/arm_limits.h"
#include "reap/stall_limits.h"

namespace ebb::reap {

// Without `act` in the policy no limits are set, neither lasting ones nor limits of stalls.
enum class ArmDeed : std::uint8_t { set, say };

struct ArmCounts {
  std::uint64_t armed = 0;
  std::uint64_t would_arm = 0;   // instead of `armed` if the policy does not act
  std::uint64_t left_alone = 0;  // the program has set all options itself
  std::uint64_t refused = 0;     // by the kernel; or the socket has ended

  void add(const ArmCounts& other) {
    armed += other.armed;
    would_arm += other.would_arm;
    left_alone += other.left_alone;
    refused += other.refused;
  }
};

struct ArmedProcess {
  census::Process process;
  ArmCounts counts;
};

struct ArmSweep {
  std::vector<ArmedProcess> processes;
  std::uint64_t stalls_limited = 0;
};

class OpenArms {
 public:
  OpenArms(const ArmLimits& limits, ArmDeed deed) : limits_(limits), deed_(deed), stalls_(limits) {}

  using FindOwners = std::function<census::Owners()>;  // costly: called only for a new socket
  using Allows = std::function<bool(const census::Socket&, const census::Process&)>;
  // For connections that programs of this machine have opened to others. The sample also has listeners.
  ArmSweep sweep(const census::Sample& sample, const FindOwners& find_owners, const Allows& allows);
  bool may_limit_stalls() const { return deed_ == ArmDeed::set; }
  bool limits_stalls() const { return stalls_.any_limited(); }

 private:
  std::vector<census::Socket> take_fresh(const census::Sample& sample);
  std::vector<ArmedProcess> arm_all(std::vector<census::Socket> fresh, const census::Owners& owners,
                                    const Allows& allows);
  void arm(int twin, const census::Process& process, const census::Socket& socket, ArmCounts& counts);

  const ArmLimits limits_;
  const ArmDeed deed_;
  StallLimits stalls_;
  std::unordered_set<std::uint64_t> seen_;  // cookies of the last sample
};

}  // namespace ebb::reap
