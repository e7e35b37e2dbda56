// Whether another replica runs the same configuration as this router. Pure. Each process counts its own generations, so
// this compares digests, which do not show which of two configurations is newer.
//
// A change reaches replicas one after the other, so a different digest is no fault at first. It becomes a fault if an
// answer still has it `settle` after the first such answer, even if most answers of the replica agree: then one of its
// workers is stuck.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"

namespace ebb::canary {

class Agreement {
 public:
  struct Times {
    base::Duration settle{};  // time for a change to reach all replicas
    base::Duration forget{};  // a digest unseen for so long counts as new; longer than the time between two probes
  };
  explicit Agreement(Times times) : times_(times) {}

  // `shown`: the digest in an answer of the replica; "" if missing.
  void note(const std::string& shown, const std::string& ours, base::Instant now) {
    if (strange_ == ours) strange_.reset();
    if (shown == ours) return;
    const bool again = strange_ == shown && now - last_ <= times_.forget;
    if (!again) first_ = now;
    strange_ = shown;
    last_ = now;
  }
  // The digest that answers to new requests must no longer have.
  std::optional<std::string> stale(const std::string& ours, base::Instant now) const {
    return strange_ != ours && now - first_ >= times_.settle ? strange_ : std::nullopt;
  }

 private:
  Times times_;
  std::optional<std::string> strange_;
  base::Instant first_{};  // when first seen
  base::Instant last_{};
};

}  // namespace ebb::canary
