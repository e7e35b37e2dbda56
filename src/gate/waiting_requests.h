// The requests of this worker that have waited for an answer for more than half of `silence.after`, at the last look.
//
// Owns the list of that look, and the list of endpoints that have been silent since requests to them were given up.
// Owned by HealthWatch. Each look replaces the first list; an endpoint leaves the second with its next byte, or after
// 10 s. May touch what an endpoint's evidence says about times; ends and moves no request.
// Before: gate/health (look), gate/moves (given_up). Next: gate/kind_survey, gate/silence_scale.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gate/core.h"
#include "gate/endpoints.h"

namespace ebb::gate {

struct WaitingRequest {
  base::Handle view, endpoint;
  lifecycle::RequestKind kind = 0;
  base::Duration waited{};
  bool overtaken = false;  // its endpoint has answered others meanwhile: it is slow by nature

  bool same_kind(const WaitingRequest& other) const { return view == other.view && kind == other.kind; }
  bool before(const WaitingRequest& other) const {
    if (view != other.view) return view.slot < other.view.slot;
    if (kind != other.kind) return kind < other.kind;
    return waited > other.waited;
  }
};

class WaitingRequests {
 public:
  explicit WaitingRequests(Core& core) : core_(core) {}

  void look();
  void forget();
  // The client no longer waits for the answer to a request that was asked then, or its time is over.
  void given_up(LiveEndpoint& endpoint, lifecycle::RequestKind kind, base::Instant asked);

  // By view and kind; of each kind the longest waits first.
  std::span<const WaitingRequest> all() const { return all_; }
  base::Instant looked_at() const { return looked_at_; }
  bool any_given_up() const { return !given_up_at_.empty(); }
  bool asked_lately(const LiveEndpoint& endpoint) const { return asked_lately_.contains(endpoint.self.slot); }
  bool owes(base::Handle endpoint) const;  // an answer, for long
  // Requests of the endpoint's backend wait elsewhere too: perhaps they are slow, and block serial endpoints in turn.
  bool block_endpoints_like(const LiveEndpoint& endpoint) const;

 private:
  void note_heard();  // bytes that came since the last look
  void find_running();
  void find_given_up();

  Core& core_;
  base::Instant looked_at_{};
  std::vector<WaitingRequest> all_;
  std::vector<base::Handle> given_up_at_;
  // By slot: endpoints that were asked within `silence.after`; views with requests that have moved and still wait at an
  // endpoint that may handle one request at a time.
  std::unordered_set<std::uint32_t> asked_lately_;
  std::unordered_map<std::uint32_t, std::uint32_t> slow_elsewhere_;
};

}  // namespace ebb::gate
