// Numbers for the names of routes, backends, endpoints and listeners, the same in all snapshots. Workers count by
// number; only logs and the scraper use the text. Reading takes no lock, so workers may read labels for each request.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/assert.h"

namespace ebb::base {

using Label = std::uint32_t;  // 0: none

class Labels {
 public:
  Labels() = default;
  Labels(const Labels&) = delete;
  Labels& operator=(const Labels&) = delete;
  ~Labels() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }

  Label intern(std::string_view text) {
    if (text.empty()) return 0;
    std::lock_guard lock(mutex_);
    const auto found = numbers_.find(std::string(text));
    if (found != numbers_.end()) return found->second;
    const Label label = count_.load(std::memory_order_relaxed);
    EBB_ASSERT(label < chunk_size * chunks_.size());
    auto& chunk = chunks_[label / chunk_size];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(new std::string[chunk_size], std::memory_order_relaxed);
    }
    chunk.load(std::memory_order_relaxed)[label % chunk_size] = text;
    numbers_.emplace(text, label);
    count_.store(label + 1, std::memory_order_release);  // publishes the text and its chunk together with the number
    return label;
  }
  // How many more names fit.
  std::size_t room() const { return chunk_size * chunks_.size() - count_.load(std::memory_order_relaxed); }
  // Valid for the life of this table, because a text never moves.
  std::string_view text(Label label) const {
    if (label == 0 || label >= count_.load(std::memory_order_acquire)) return {};
    return chunks_[label / chunk_size].load(std::memory_order_relaxed)[label % chunk_size];
  }

 private:
  static constexpr Label chunk_size = 1024;

  std::array<std::atomic<std::string*>, 4096> chunks_{};
  std::atomic<Label> count_ = 1;
  std::mutex mutex_;  // of threads that intern: the control plane
  std::unordered_map<std::string, Label> numbers_;
};

}  // namespace ebb::base
