// Evidence about endpoints on its way to a verdict. Each worker reports what its own traffic shows to the endpoint's
// home worker, which judges it when its round ends: no callback judges.
//
// Owns the findings of this round that this worker, as the home, has to judge. Owned by HealthWatch.
// A finding ends when Verdicts has taken it.
// Before: gate/failures, gate/reach, gate/stalls, gate/silence_scale, gate/trials. Next: gate/verdicts.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/cause.h"
#include "gate/core.h"

namespace ebb::gate {

struct Finding {
  enum class Kind : std::uint8_t {
    connect_failed,
    delayed,
    stalled,
    silent,
    ping_unanswered,
    trial_failed,
    heard,
    failing,
    check_passed,
    check_failed,
    check_fell,
    check_rose
  };
  std::uint64_t identity = 0;
  Kind kind = Kind::heard;
  base::Cause cause = base::Cause::none;
  double surprise = 0;      // of `silent` and `trial_failed`
  bool unanswered = false;  // of a check: it took too long

  bool of_check() const { return kind >= Kind::check_passed; }
};

class Findings {
 public:
  explicit Findings(Core& core) : core_(core) {}

  // To the endpoint's home worker, which may be this one.
  void report(const Finding& finding);
  // As the home worker, from all.
  void take(const Finding& finding) { inbox_.push_back(finding); }
  bool any() const { return !inbox_.empty(); }
  std::vector<Finding> take_all() { return std::exchange(inbox_, {}); }
  // Those that `over` says of are not judged.
  template <class Predicate>  // (finding)
  void withdraw(Predicate&& over) {
    std::erase_if(inbox_, over);
  }

 private:
  Core& core_;
  std::vector<Finding> inbox_;
};

}  // namespace ebb::gate
