#include "reactor/receive_blocks.h"

namespace ebb::reactor {

bool ReceiveBlocks::renew_first(std::uint32_t room) {
  base::Slice& first = held_[0];
  if (first.block() != nullptr && !first.block()->shared()) {
    used_ = 0;
    return true;
  }
  if (first.block() != nullptr && first.block()->capacity() - used_ >= room) return true;
  base::Block* block = pool_.try_take_large();
  if (block == nullptr) return false;
  first = base::Slice(*block, 0, 0);
  used_ = 0;
  return true;
}

std::span<const iovec> ReceiveBlocks::prepare(unsigned blocks) {
  // A lone block is used whole: a request with 16 KiB of body and its head fit.
  constexpr std::uint32_t most_bytes = base::BlockPool::body_size;
  if (!renew_first(blocks > 1 ? most_bytes : room_least)) return {};
  const std::uint32_t room = held_[0].block()->capacity() - used_;
  parts_[0] = {held_[0].block()->data() + used_, blocks > 1 ? std::min(room, most_bytes) : room};
  unsigned ready = 1;
  for (; ready < blocks; ++ready) {
    if (held_[ready].block() == nullptr) {
      base::Block* block = pool_.try_take_large();
      if (block == nullptr) break;
      held_[ready] = base::Slice(*block, 0, 0);
    }
    parts_[ready] = {held_[ready].block()->data(), most_bytes};
  }
  return {parts_, ready};
}

std::size_t ReceiveBlocks::room(std::span<const iovec> parts) {
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  return bytes;
}

}  // namespace ebb::reactor
