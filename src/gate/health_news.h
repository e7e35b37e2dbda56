// What leaves gate/verdicts and gate/rescue: the news of an endpoint's health for all workers, and two reports for the
// event log. Plain values.
#pragma once

#include <cstdint>
#include <string>

#include "base/address.h"
#include "base/cause.h"
#include "base/clock.h"
#include "lifecycle/endpoint.h"
#include "lifecycle/verdict.h"

namespace ebb::gate {

// From the home worker to all workers.
struct HealthNews {
  lifecycle::Health health = lifecycle::Health::up;
  base::Cause why = base::Cause::none;
  lifecycle::Doubt doubt = lifecycle::Doubt::none;
  bool siblings_answer = false;  // the requests that it lets wait
  bool condemned = false;
  bool heard = false;  // bytes of it have ended the doubt
};

// A verdict, as the event log has it.
struct HealthChange {
  std::string backend;
  std::string endpoint;
  base::Address address;
  lifecycle::Health from = lifecycle::Health::up;
  lifecycle::Health to = lifecycle::Health::up;
  base::Cause cause = base::Cause::none;  // of the trouble; where it is over: of that which is over
  bool condemned = false;                 // all that was open to it was ended
  bool ejected = false;                   // for a while, for failing
  base::Duration lasted{};                // how long it had been in `from`
  lifecycle::Doubt doubt = lifecycle::Doubt::none;
  double surprise = 0;              // lifecycle/surprise.h: of what speaks against it
  std::uint32_t trials_failed = 0;  // among that
};

// What followed on one worker from a confirmed silence.
struct SilenceRelief {
  std::string backend;
  std::string endpoint;
  base::Address address;
  std::uint32_t moved = 0;  // requests, to other endpoints
  std::uint32_t kept = 0;   // that stay: they cannot be repeated, or are taken for slow
};

}  // namespace ebb::gate
