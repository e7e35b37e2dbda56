// Which connection makes room for a new one where a budget is used up: one that is only held open, never one that is
// being served. The largest kind gives up the one that has waited for longest: a flood of one kind displaces itself,
// and a newcomer has time to ask. Pure; made for one decision.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/slot_map.h"

namespace ebb::serve {

enum class Held : std::uint8_t {
  never_asked,       // accepted; perhaps half of a first request is there
  between_requests,  // served before; perhaps half of the next request is there
  answered,          // the peer has yet to read an answer, or to close
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
  // Names nothing where none is held open.
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
