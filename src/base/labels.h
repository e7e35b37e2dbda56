// Names of routes, backends, endpoints and listeners as small numbers, equal over all snapshots, so that workers
// count by number and only the scraper sees text.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ebb::base {

using Label = std::uint32_t;  // 0: none

class Labels {
 public:
  Labels() { texts_.emplace_back(); }

  Label intern(std::string_view text) {
    if (text.empty()) return 0;
    std::lock_guard lock(mutex_);
    const auto found = numbers_.find(std::string(text));
    if (found != numbers_.end()) return found->second;
    const Label label = static_cast<Label>(texts_.size());
    texts_.emplace_back(text);
    numbers_.emplace(texts_.back(), label);
    return label;
  }
  // Valid for the life of this table: a deque does not move its elements.
  std::string_view text(Label label) const {
    std::lock_guard lock(mutex_);
    return label < texts_.size() ? std::string_view(texts_[label]) : std::string_view();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string, Label> numbers_;
};

}  // namespace ebb::base
