// Parsers want a head in one piece. Usually it is one slice; a head that came in crumbs is gathered into a block of its
// own, which also lets go of the large blocks that the crumbs were received in.
#pragma once

#include <algorithm>

#include "base/block.h"
#include "gate/core.h"

namespace ebb::gate {

// `limit`: of a head. Beyond it the parser has its verdict, so no more needs to be in one piece.
inline void gather(base::BlockPool& pool, base::Chain& input, std::size_t limit) {
  if (input.slices() == 1 && !input.front().block()->shared()) return;
  const std::size_t wanted = std::min(input.bytes(), limit + 1);
  base::Slice head = pool.take(static_cast<std::uint32_t>(wanted + copy_bytes_max));
  base::Chain pieces = input.split_front(wanted);
  while (!pieces.empty()) head.append(pieces.pop_front().view());
  base::Chain rest = std::move(input);
  input.push(std::move(head));
  input.push(std::move(rest));
}

}  // namespace ebb::gate
