// Memory for receives. A large block serves many small receives: each takes the next part. Once all parts are
// released, receives use the block from its start again, still warm in the cache. Bulk receives get up to eight whole
// blocks.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <span>

#include "base/block.h"

namespace ebb::reactor {

class ReceiveBlocks {
 public:
  static constexpr unsigned most = 8;

  explicit ReceiveBlocks(base::BlockPool& pool) : pool_(pool) {}

  // Memory of one block, or of several; empty if the pool's budget is used up.
  std::span<const iovec> prepare(unsigned blocks);
  // Calls take(Slice) for each part of the `bytes` that were received into what prepare() gave.
  template <class Take>
  void hand_out(std::size_t bytes, Take&& take);
  static std::size_t room(std::span<const iovec> parts);

 private:
  static constexpr std::uint32_t room_least = 4096;  // below it a fresh block saves a second system call
  bool renew_first(std::uint32_t room);

  base::BlockPool& pool_;
  base::Slice held_[most];  // empty slices: they only keep their blocks
  std::uint32_t used_ = 0;  // of the first block
  iovec parts_[most] = {};
};

template <class Take>
void ReceiveBlocks::hand_out(std::size_t bytes, Take&& take) {
  const auto first = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, parts_[0].iov_len));
  base::Slice slices[most];
  slices[0] = base::Slice(*held_[0].block(), used_, first);
  used_ += first;
  bytes -= first;
  for (unsigned i = 1; bytes > 0; ++i) {
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, parts_[i].iov_len));
    slices[i] = std::move(held_[i]);
    slices[i].extend(count);
    bytes -= count;
  }
  // Taking calls out, and what it calls may receive again: nothing of ours is touched from here on.
  for (base::Slice& slice : slices) {
    if (!slice.empty()) take(std::move(slice));
  }
}

}  // namespace ebb::reactor
