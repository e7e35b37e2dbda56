// The ring of buffers from which the kernel takes one when bytes arrive: an idle connection holds none. Each is a
// Block of the pool, handed out as a Slice without copying; its place in the ring gets a fresh Block.
#pragma once

#include <liburing.h>

#include <vector>

#include "base/block.h"

namespace ebb::reactor {

class UringBuffers {
 public:
  static constexpr std::uint16_t group = 0;

  explicit UringBuffers(base::BlockPool& pool) : pool_(pool) {}
  UringBuffers(const UringBuffers&) = delete;
  UringBuffers& operator=(const UringBuffers&) = delete;
  ~UringBuffers();  // after the kernel's ring is gone

  int attach(io_uring& ring);  // 0 or a negative errno
  // The bytes that a completion has put into buffer `id`.
  base::Slice take(std::uint16_t id, std::uint32_t bytes);
  bool none_left() const { return empty_.size() == entries; }
  // Fills the empty places, as far as the pool's budget goes. False if not a single buffer is left.
  bool refill();

 private:
  static constexpr std::uint32_t entries = 128;
  io_uring_buf_ring* ring_ = nullptr;
  base::BlockPool& pool_;
  base::Slice provided_[entries];  // empty slices: they keep the blocks while the kernel may write to them
  std::vector<std::uint16_t> empty_;
};

}  // namespace ebb::reactor
