// Requests that leave an endpoint because it is silent: one of them to compare its siblings with, then, once the
// silence is confirmed, those that can be repeated and are overdue for their kind. Silence never has another
// consequence; POSTs, begun responses, streams and tunnels stay (docs/decisions/0013-slow-is-not-dead.md).
//
// Owns nothing; gate/moves carries requests away. Owned by HealthWatch, ends with the worker.
// Before: gate/health (look), gate/h2_backends (a PING without an answer). Next: gate/moves.
#pragma once

#include <cstdint>
#include <optional>

#include "gate/core.h"
#include "gate/endpoints.h"
#include "gate/known_times.h"
#include "gate/silence_scale.h"
#include "gate/trials.h"
#include "gate/waiting_requests.h"

namespace ebb::gate {

struct Exchange;

class Rescue {
 public:
  Rescue(Core& core, const WaitingRequests& waiting, KindSurvey& survey, const SilenceScale& scale, Trials& trials)
      : core_(core), waiting_(waiting), survey_(survey), scale_(scale), trials_(trials) {}

  void look();
  // What waits on a connection of HTTP/2 whose PING was not answered.
  void leave_connection(const BackendConnection& connection, const LiveEndpoint& endpoint);

 private:
  // How one endpoint that is known to be silent is seen.
  struct SilenceFacts {
    base::Duration lasts{};
    base::Duration survived{};   // the longest silence that an endpoint of the backend came back after
    base::Instant first{};       // when the request was asked that waits longest
    bool concurrent = false;     // it works on several requests at a time
    double chance_to_leave = 0;  // a request leaves if no more of its kind take longer
  };

  void ask_siblings();
  void compare(base::Handle endpoint);
  void move_one(const LiveEndpoint& endpoint, bool sure, std::optional<lifecycle::RequestKind> of = {});
  void leave(const LiveEndpoint& endpoint);
  SilenceFacts silence_of(const LiveEndpoint& endpoint) const;
  bool stays(const Exchange& exchange, const SilenceFacts& silence, KnownTimes& times) const;
  bool another_may_answer(const LiveEndpoint& endpoint, base::Instant asked) const;
  base::Duration survived_by(const LiveEndpoint& endpoint) const;
  base::Instant first_asked(base::Handle endpoint) const;
  void tell(base::Handle endpoint, std::uint32_t moved);

  Core& core_;
  const WaitingRequests& waiting_;
  KindSurvey& survey_;
  const SilenceScale& scale_;
  Trials& trials_;
};

}  // namespace ebb::gate
