// Chooses the connection that makes room for a new one when a budget is used up: a waiting connection, never one with a
// request in progress. The largest kind gives up its longest-waiting connection: a flood of one kind displaces itself,
// and a newcomer has time to send a request. Pure; made for one decision.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/slot_map.h"

namespace ebb::serve {

enum class Held : std::uint8_t {
  never_asked,       // accepted; perhaps part of a first request has arrived
  between_requests,  // after an answer; perhaps part of the next request has arrived
  answered,          // the peer has not yet read an answer, or not closed
};

class HeldOpen {
 public:
  void add(Held kind, base::Instant since, base::Handle handle) {
    Group& group = groups_[static_cast<std::size_t>(kind)];
    group.count += 1;
    if (group.count > 1 && since >= group.since) return;
    group.since = since;
    group.longest = handle;
  }
  // An empty handle if no connection is waiting.
  base::Handle to_close() const { return std::ranges::max_element(groups_, {}, &Group::count)->longest; }

 private:
  struct Group {
    std::size_t count = 0;
    base::Instant since = {};
    base::Handle longest = {};
  };
  std::array<Group, 3> groups_;
};

}  // namespace ebb::serve
