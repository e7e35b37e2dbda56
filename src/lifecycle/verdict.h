// The book on one endpoint, kept by its home worker: evidence of all workers goes in, its health comes out, and when to
// probe it next. Pure.
//
//   refused, unreachable, no answer to SYN   down at once; probed until a connection is established
//   data sent again once                     still up; a probe is sent, so that its answer is there when more is known
//   data sent again twice                    suspect; a probe that fails, or 3 s, condemn it; at once if one had failed
//   requests not answered, siblings answer   suspect; an answer clears it
//   failures in a row                        down for a while that doubles each time
//   active checks that fail                  down until they pass; where there are checks, they are the probes
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "lifecycle/endpoint.h"

namespace ebb::lifecycle {

class Verdict {
 public:
  static constexpr base::Duration probe_first = std::chrono::milliseconds{250};
  static constexpr base::Duration probe_longest = std::chrono::seconds{2};
  static constexpr base::Duration decide_within = std::chrono::seconds{3};
  static constexpr base::Duration unanswered_counts = std::chrono::seconds{1};  // a probe, beside what comes after it
  static constexpr base::Duration ejection_first = std::chrono::seconds{1};
  // Who is cured serves again within 5 s; one request in so long is what the incurable cost.
  static constexpr base::Duration ejection_longest = std::chrono::seconds{4};
  static constexpr base::Duration good_behaviour = std::chrono::minutes{1};

  struct Change {
    bool changed = false;
    bool condemned = false;  // all that is open to it is lost
  };

  constexpr Health health() const { return life_.state(); }
  constexpr base::Cause why() const { return why_; }
  constexpr bool ejected() const { return ejected_; }
  constexpr base::Instant probe_at() const { return probe_at_; }

  constexpr Change connect_failed(base::Instant now, base::Cause cause) {
    if (life_.is(Health::down)) return {};
    if (doubted_as(base::Cause::backend_dead)) return condemn(now);
    return go_down(now, cause, false);
  }
  // Bytes to it have been sent again, and nothing was acknowledged.
  constexpr void delayed(base::Instant now) {
    const bool well = life_.is(Health::up) || life_.is(Health::warming);
    if (well && !asking_ && !unanswered_lately(now)) probe_at_ = now;
  }
  // And again.
  constexpr Change stalled(base::Instant now) {
    if (unanswered_lately(now) && !life_.is(Health::down)) return condemn(now);
    // That it cannot be reached by a new connection was known: both together are the proof.
    if (life_.is(Health::down)) {
      if (why_ == base::Cause::backend_dead || !unreachable(why_)) return {};
      why_ = base::Cause::backend_dead;
      return {.changed = true, .condemned = true};
    }
    if (doubted_as(base::Cause::backend_silent)) {
      why_ = base::Cause::backend_dead;
      decide(now);
    }
    return suspect(now, base::Cause::backend_dead);
  }
  constexpr Change silent(base::Instant now) { return suspect(now, base::Cause::backend_silent); }
  // Bytes of it came, or an answer.
  constexpr Change heard(base::Instant now) {
    if (life_.is(Health::down)) return ejected_ || failing_checks_ ? Change{} : recover(now);
    return clear(now);
  }
  constexpr Change failing(base::Instant now, base::Cause cause) {
    if (life_.is(Health::down)) return {};
    if (now - recovered_at_ > good_behaviour) ejections_ = 0;
    const Change change = go_down(now, cause, true);
    probe_at_ = now + std::min(ejection_longest, ejection_first * (1 << std::min(ejections_, 5u)));
    ejections_ += 1;
    ejected_until_ = probe_at_;
    return change;
  }
  constexpr Change warmed() { return {.changed = step(HealthLife::Event::warmed)}; }

  // A probe is on its way; the next comes when it has told.
  constexpr void probing() {
    probe_at_ = base::Instant::max();
    asking_ = true;
  }
  constexpr Change probe_passed(base::Instant now) {
    asking_ = false;
    unanswered_.reset();
    if (life_.is(Health::down)) return failing_checks_ || now < ejected_until_ ? Change{} : recover(now);
    // It accepts connections: that does not answer the question whether it answers requests.
    if (why_ == base::Cause::backend_silent) return {};
    return clear(now);
  }
  constexpr Change probe_failed(base::Instant now) {
    asking_ = false;
    unanswered_ = now;
    if (doubted_as(base::Cause::backend_dead)) return condemn(now);
    if (life_.is(Health::down)) back_off(now);
    return {};
  }
  // A check is on its way instead. It may come to nothing: the next tells then.
  constexpr void left_to_check() { probe_at_ = base::Instant::max(); }
  // Also where no probe was asked for. `fell`, `rose`: as many in a row as count have failed, or passed again.
  constexpr Change check_passed(base::Instant now) { return probe_passed(now); }
  constexpr Change check_failed(base::Instant now, base::Cause cause) {
    if (unreachable(cause)) unanswered_ = now;
    if (doubted_as(base::Cause::backend_dead) && unreachable(cause)) return condemn(now);
    if (!life_.is(Health::down)) return {};
    back_off(now);
    // Whether it can be reached at all decides whether it is better than nothing.
    if (unreachable(why_) == unreachable(cause)) return {};
    why_ = cause;
    return {.changed = true};
  }
  constexpr Change check_fell(base::Instant now, base::Cause cause) {
    failing_checks_ = true;
    if (life_.is(Health::down)) return check_failed(now, cause);
    if (life_.is(Health::suspect) && !unreachable(cause)) return {};  // until that is cleared: see clear()
    if (doubted_as(base::Cause::backend_dead)) return condemn(now);
    return go_down(now, cause, false);
  }
  constexpr Change check_rose(base::Instant now) {
    failing_checks_ = false;
    if (!life_.is(Health::down)) return {};
    probe_at_ = ejected_until_;
    return check_passed(now);
  }
  // Nobody checks it any more: what they kept down is for probes to find out.
  constexpr void checks_ended(base::Instant now) {
    failing_checks_ = false;
    if (life_.is(Health::down) && probe_at_ == base::Instant::max()) probe_at_ = std::max(now, ejected_until_);
  }

  // A suspicion that nothing has cleared in time is a proof.
  constexpr bool overdue(base::Instant now) const { return doubted_as(base::Cause::backend_dead) && now >= decide_by_; }

  // Only probes can help it, or time.
  constexpr bool needs_looks() const { return life_.is(Health::down) || doubted_as(base::Cause::backend_dead); }
  // Nothing is left to be remembered.
  constexpr bool settled(base::Instant now) const {
    return life_.is(Health::up) && now - recovered_at_ > good_behaviour && !asking_ && !unanswered_lately(now);
  }

 private:
  constexpr bool step(HealthLife::Event event) { return life_.step(event); }
  constexpr bool doubted_as(base::Cause why) const { return life_.is(Health::suspect) && why_ == why; }
  constexpr bool unanswered_lately(base::Instant now) const {
    return unanswered_ && now - *unanswered_ <= unanswered_counts;
  }

  constexpr Change suspect(base::Instant now, base::Cause why) {
    if (!step(HealthLife::Event::suspected)) return {};
    why_ = why;
    if (why == base::Cause::backend_dead) decide(now);
    return {.changed = true};
  }
  constexpr void decide(base::Instant now) {
    if (!asking_) probe_at_ = now;
    decide_by_ = now + decide_within;
  }
  constexpr Change go_down(base::Instant now, base::Cause cause, bool ejected) {
    if (!step(HealthLife::Event::condemned)) return {};
    why_ = cause;
    ejected_ = ejected;
    probe_wait_ = probe_first;
    probe_after_wait(now);
    return {.changed = true};
  }
  // It was not what it was suspected of; that does not make its checks pass.
  constexpr Change clear(base::Instant now) {
    if (!step(HealthLife::Event::cleared)) return {};
    return failing_checks_ ? go_down(now, base::Cause::backend_check_failed, false) : Change{.changed = true};
  }
  constexpr Change condemn(base::Instant now) {
    Change change = go_down(now, base::Cause::backend_dead, false);
    change.condemned = change.changed;
    return change;
  }
  constexpr void back_off(base::Instant now) {
    probe_wait_ = std::min(probe_longest, probe_wait_ * 2);
    probe_after_wait(now);
  }
  // While its checks fail they come at their own pace, and enough of them must pass.
  constexpr void probe_after_wait(base::Instant now) {
    probe_at_ = failing_checks_ ? base::Instant::max() : std::max(now + probe_wait_, ejected_until_);
  }
  constexpr Change recover(base::Instant now) {
    recovered_at_ = now;
    probe_at_ = base::Instant::max();
    ejected_ = false;
    ejected_until_ = {};
    return {.changed = step(HealthLife::Event::recovered)};
  }

  HealthMachine life_;
  base::Cause why_ = base::Cause::completed;
  bool ejected_ = false;
  bool failing_checks_ = false;
  std::uint32_t ejections_ = 0;
  base::Instant probe_at_ = base::Instant::max();
  bool asking_ = false;                      // a probe is on its way
  std::optional<base::Instant> unanswered_;  // when the last one failed
  base::Duration probe_wait_ = probe_first;
  base::Instant ejected_until_{};
  base::Instant decide_by_{};
  base::Instant recovered_at_{};
};

}  // namespace ebb::lifecycle
