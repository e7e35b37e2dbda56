// How much work one endpoint may have on all workers together (`maxconn` of the runtime socket). Shared by them, like
// the list that it is in, and the one thing in a list that changes: a few atomic numbers, asked only of endpoints that
// have such a limit.
//
// A worker that finds it full leaves its mark, and looks once more behind the mark: whoever gives a place back either
// sees the mark, and wakes that worker, or was early enough for the second look.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ebb::gate {

class SharedLimit {
 public:
  explicit SharedLimit(std::uint32_t most) : most_(most) {}

  std::uint32_t most() const { return most_.load(); }
  void set_most(std::uint32_t most) { most_.store(most); }

  // False: there is no place.
  bool take() {
    std::uint32_t used = used_.load();
    do {
      if (used >= most_.load()) return false;
    } while (!used_.compare_exchange_weak(used, used + 1));
    return true;
  }
  // Work that began before there was a limit counts too, however much it is.
  void take_anyway(std::uint32_t places) { used_.fetch_add(places); }

  // For one more, if as many as that had a place too.
  bool room_beside(std::uint32_t others) const { return used_.load() + others < most_.load(); }

  bool full_for(std::size_t worker) {
    if (used_.load() < most_.load()) return false;
    waiting_.fetch_or(mark(worker));
    return used_.load() >= most_.load();
  }

  // The marks of workers that may have waited for them; they are gone with that.
  std::uint64_t give_back(std::uint32_t places) {
    used_.fetch_sub(places);
    return waiting_.load() == 0 ? 0 : waiting_.exchange(0);
  }
  // Workers beyond 64 share marks: one may be woken for nothing.
  static std::uint64_t mark(std::size_t worker) { return std::uint64_t{1} << (worker % 64); }

 private:
  std::atomic<std::uint32_t> most_;
  std::atomic<std::uint32_t> used_ = 0;
  std::atomic<std::uint64_t> waiting_ = 0;
};

}  // namespace ebb::gate
