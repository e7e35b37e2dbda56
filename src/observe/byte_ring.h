// A bounded queue of bytes between one producer and one consumer thread. push() publishes a whole line or nothing,
// so the consumer always finds whole lines. No locks, no system calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/assert.h"

namespace ebb::observe {

// Padded on purpose: each of the two threads writes to its own cache line.
class ByteRing {  // NOLINT(clang-analyzer-optin.performance.Padding)
 public:
  explicit ByteRing(std::size_t capacity) : capacity_(capacity), bytes_(std::make_unique<char[]>(capacity)) {
    EBB_ASSERT(std::has_single_bit(capacity));
  }

  // Producer. False: the line does not fit and counts as dropped.
  bool push(std::string_view line) {
    const std::uint64_t written = written_.load(std::memory_order_relaxed);
    // The producer reads the consumer's position again only if the last known position leaves too little room.
    // Otherwise its cache line stays with the consumer.
    if (capacity_ - (written - read_seen_) < line.size()) {
      read_seen_ = read_.load(std::memory_order_acquire);
      if (capacity_ - (written - read_seen_) < line.size()) {
        dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return false;
      }
    }
    const std::size_t at = written & (capacity_ - 1);
    const std::size_t before_wrap = std::min(line.size(), capacity_ - at);
    std::memcpy(bytes_.get() + at, line.data(), before_wrap);
    std::memcpy(bytes_.get(), line.data() + before_wrap, line.size() - before_wrap);
    written_.store(written + line.size(), std::memory_order_release);
    return true;
  }

  // Producer. True if more than half of the ring is in use; cheap while false.
  bool pressed() {
    const std::uint64_t written = written_.load(std::memory_order_relaxed);
    if (written - read_seen_ <= capacity_ / 2) return false;
    read_seen_ = read_.load(std::memory_order_acquire);
    return written - read_seen_ > capacity_ / 2;
  }

  // Consumer. The readable bytes up to the end of the memory; wrapped bytes follow after release().
  std::string_view readable() const {
    const std::uint64_t read = read_.load(std::memory_order_relaxed);
    const std::uint64_t written = written_.load(std::memory_order_acquire);
    const std::size_t at = read & (capacity_ - 1);
    return {bytes_.get() + at, std::min<std::size_t>(written - read, capacity_ - at)};
  }
  void release(std::size_t count) {
    read_.store(read_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }
  bool empty() const { return written_.load(std::memory_order_acquire) == read_.load(std::memory_order_relaxed); }

  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }  // any thread

 private:
  static constexpr std::size_t cache_line = 64;

  const std::size_t capacity_;
  const std::unique_ptr<char[]> bytes_;
  alignas(cache_line) std::atomic<std::uint64_t> written_ = 0;  // written by the producer, as all members in this line
  std::uint64_t read_seen_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
  alignas(cache_line) std::atomic<std::uint64_t> read_ = 0;  // written by the consumer
};

}  // namespace ebb::observe
