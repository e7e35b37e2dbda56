// The book on one endpoint, kept by its home worker: evidence of all workers goes in, its health comes out, and when to
// probe it next. Pure.
//
//   refused, unreachable, no answer to SYN   down at once; probed until a connection is established
//   data sent again once                     still up; a probe is sent, so that its answer is there when more is known
//   data sent again twice                    suspect; a probe that fails, or 3 s, condemn it; at once if one had failed
//   requests not answered, siblings answer   doubted: suspect; an answer clears it
//   ... and a trial or a check not answered  confirmed: what can be repeated leaves, nothing else ends
//   failures in a row                        down for a while that doubles each time
//   active checks that fail                  down until they pass; where there are checks, they are the probes
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "lifecycle/endpoint.h"

namespace ebb::lifecycle {

// Whether it answers at all, whatever else is known of it. An axis of its own: what its connections show does not
// answer that question, nor do its checks where they pass.
enum class Doubt : std::uint8_t { none, doubted, confirmed };
inline constexpr std::string_view doubt_names[] = {"none", "doubted", "confirmed"};

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
  static constexpr base::Duration doubt_lasts = std::chrono::seconds{10};  // after the last trial that failed
  // What other workers have found before they knew is on its way then.
  static constexpr base::Duration expired_rests = std::chrono::milliseconds{500};
  // Surprise of waiting requests, from which it is doubted. To ask whether it answers costs next to nothing.
  static constexpr double doubts = 1.5;  // one in thirty
  static constexpr double confirms = 5;  // surprise (lifecycle/surprise.h) of waiting requests and trials together
  static constexpr double check_surprise = 2;  // of a check that is not answered

  struct Change {
    bool changed = false;
    bool condemned = false;  // all that is open to it is lost
    bool heard = false;      // by what came from it
  };

  constexpr Health health() const { return life_.state(); }
  constexpr base::Cause why() const { return why_; }
  constexpr bool ejected() const { return ejected_; }
  constexpr Doubt doubt() const { return doubt_; }
  constexpr double surprise() const { return surprise_ + trials_surprise_; }
  // It is doubted by requests that siblings answer; checks and PINGs compare it with nobody.
  constexpr bool compared() const { return surprise_ > 0; }
  constexpr std::uint32_t trials_failed() const { return trials_failed_; }
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
  // Requests wait there, so surprisingly. That alone never confirms itself.
  constexpr Change silent(base::Instant now, double surprise) {
    if (life_.is(Health::down) && unreachable(why_)) return {};
    if (now < silent_again_at_) return {};
    surprise_ = std::max(surprise_, surprise);
    if (doubt_ != Doubt::none) return {};
    doubt_ = Doubt::doubted;
    doubt_until_ = now + doubt_lasts;
    suspect(now, base::Cause::backend_silent);
    return {.changed = true};
  }
  // A PING that its kernel has acknowledged: a trial that nobody had to doubt it for.
  constexpr Change ping_unanswered(base::Instant now) {
    Change change = silent(now, 0);
    change.changed = trial_failed(now, check_surprise).changed || change.changed;
    return change;
  }
  // A trial of a doubted one was not answered.
  constexpr Change trial_failed(base::Instant now, double surprise) {
    if (doubt_ == Doubt::none) return {};
    doubt_until_ = now + doubt_lasts;
    trials_failed_ += 1;
    trials_surprise_ += surprise;
    if (doubt_ == Doubt::confirmed || surprise_ + trials_surprise_ < confirms) return {};
    doubt_ = Doubt::confirmed;
    return {.changed = true};
  }
  // No trial has spoken against it for long, be it that none was to be had: it gets work again.
  constexpr bool doubt_expired(base::Instant now) const {
    return doubt_ != Doubt::none && !life_.is(Health::down) && now >= doubt_until_;
  }
  constexpr Change expire(base::Instant now) {
    silent_again_at_ = now + expired_rests;
    if (life_.is(Health::down)) {  // for another reason, that stands
      end_doubt();
      return {.changed = true};
    }
    Change change = heard(now);
    change.heard = false;
    return change;
  }
  // Bytes of it came, or an answer.
  constexpr Change heard(base::Instant now) {
    const bool doubted = doubt_ != Doubt::none;
    end_doubt();
    Change change{};
    if (!life_.is(Health::down)) {
      change = clear(now);
    } else if (!ejected_ && !failing_checks_) {
      change = recover(now);
    }
    change.changed = change.changed || doubted;
    change.heard = true;
    return change;
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
    return clear(now);
  }
  constexpr Change probe_failed(base::Instant now) {
    asking_ = false;
    unanswered_ = now;
    if (doubted_as(base::Cause::backend_dead)) return condemn(now);
    if (life_.is(Health::down)) back_off(now);
    return {};
  }
  // It could not be asked.
  constexpr void probe_later(base::Instant now) { probe_at_ = now + probe_first; }
  // A check is on its way instead. It may come to nothing: the next tells then.
  constexpr void left_to_check() { probe_at_ = base::Instant::max(); }
  // Also where no probe was asked for. `fell`, `rose`: as many in a row as count have failed, or passed again.
  constexpr Change check_passed(base::Instant now) { return probe_passed(now); }
  // `unanswered`: it took too long, instead of being refused or answered badly. That is a trial too, whoever asked.
  constexpr Change check_failed(base::Instant now, base::Cause cause, bool unanswered = false) {
    if (unreachable(cause)) unanswered_ = now;
    if (doubted_as(base::Cause::backend_dead) && unreachable(cause)) return condemn(now);
    Change change = unanswered ? trial_failed(now, check_surprise) : Change{};
    if (!life_.is(Health::down)) return change;
    back_off(now);
    // Whether it can be reached at all decides whether it is better than nothing.
    if (unreachable(why_) == unreachable(cause)) return change;
    why_ = cause;
    return {.changed = true};
  }
  // Checks that it does not answer and requests that it does not answer are the same fact.
  constexpr Change check_fell(base::Instant now, base::Cause cause, bool unanswered = false) {
    failing_checks_ = true;
    const bool gone = life_.is(Health::down) && unreachable(why_);  // that is more than silence
    const bool confirmed = unanswered && !gone && doubt_ != Doubt::confirmed;
    if (unanswered && !gone) doubt_ = Doubt::confirmed, doubt_until_ = now + doubt_lasts;
    Change change = fall(now, cause);
    change.changed = change.changed || confirmed;
    return change;
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
  constexpr bool needs_looks() const { return life_.is(Health::down) || life_.is(Health::suspect); }
  // Nothing is left to be remembered.
  constexpr bool settled(base::Instant now) const {
    return life_.is(Health::up) && doubt_ == Doubt::none && now - recovered_at_ > good_behaviour && !asking_ &&
           !unanswered_lately(now);
  }

 private:
  constexpr Change fall(base::Instant now, base::Cause cause) {
    if (life_.is(Health::down)) return check_failed(now, cause);
    if (life_.is(Health::suspect) && !unreachable(cause)) return {};  // until that is cleared: see clear()
    if (doubted_as(base::Cause::backend_dead)) return condemn(now);
    return go_down(now, cause, false);
  }
  constexpr void end_doubt() {
    doubt_ = Doubt::none;
    surprise_ = trials_surprise_ = 0;
    trials_failed_ = 0;
  }
  constexpr bool step(HealthLife::Event event) { return static_cast<bool>(life_.step(event)); }
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
  // It was not what it was suspected of; that does not make its checks pass, nor does it answer requests because it
  // accepts connections.
  constexpr Change clear(base::Instant now) {
    if (doubt_ != Doubt::none && life_.is(Health::suspect)) {
      const bool other = why_ != base::Cause::backend_silent;
      why_ = base::Cause::backend_silent;
      return {.changed = other};
    }
    if (!step(HealthLife::Event::cleared)) return {};
    return failing_checks_ ? go_down(now, base::Cause::backend_check_failed, false) : Change{.changed = true};
  }
  constexpr Change condemn(base::Instant now) {
    end_doubt();
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
    end_doubt();
    recovered_at_ = now;
    probe_at_ = base::Instant::max();
    ejected_ = false;
    ejected_until_ = {};
    return {.changed = step(HealthLife::Event::recovered)};
  }

  HealthMachine life_;
  Doubt doubt_ = Doubt::none;
  double surprise_ = 0;         // of requests that wait
  double trials_surprise_ = 0;  // of trials that were not answered
  std::uint32_t trials_failed_ = 0;
  base::Instant doubt_until_{};
  base::Instant silent_again_at_{};
  base::Cause why_ = base::Cause::none;
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
