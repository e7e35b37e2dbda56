// Requests of one backend that wait until an endpoint may take them: first come, first served within a route, and the
// routes in turn, so that one that floods the backend does not starve the others. Bounded; whoever is held also has a
// deadline of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/slot_map.h"

namespace ebb::lifecycle {

class HoldQueue {
 public:
  // False: as many wait as may.
  bool push(const void* route, base::Handle who, std::size_t limit) {
    if (size_ >= limit) return false;
    auto line = std::find_if(lines_.begin(), lines_.end(), [route](const Line& known) { return known.route == route; });
    if (line == lines_.end()) line = lines_.insert(lines_.end(), Line{route, {}});
    line->waiting.push_back(who);
    size_ += 1;
    return true;
  }

  // An invalid handle: nobody waits. The route whose turn it was goes to the end of the row.
  base::Handle pop() {
    if (lines_.empty()) return {};
    Line line = std::move(lines_.front());
    lines_.pop_front();
    const base::Handle who = line.waiting.front();
    line.waiting.pop_front();
    if (!line.waiting.empty()) lines_.push_back(std::move(line));
    size_ -= 1;
    return who;
  }

  void remove(base::Handle who) {
    for (auto line = lines_.begin(); line != lines_.end(); ++line) {
      const auto found = std::find(line->waiting.begin(), line->waiting.end(), who);
      if (found == line->waiting.end()) continue;
      line->waiting.erase(found);
      if (line->waiting.empty()) lines_.erase(line);
      size_ -= 1;
      return;
    }
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Line {
    const void* route;  // only compared
    std::deque<base::Handle> waiting;
  };
  std::deque<Line> lines_;
  std::size_t size_ = 0;
};

}  // namespace ebb::lifecycle
