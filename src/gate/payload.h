// Moves a run of payload from a received slice into a chain of output, with chunk framing where the receiver needs it.
#pragma once

#include <string_view>

#include "base/block.h"
#include "gate/core.h"
#include "wire/h1_write.h"

namespace ebb::gate {

inline void append_payload(base::BlockPool& pool, base::Chain& out, const base::Slice& source, std::uint32_t at,
                           std::uint32_t size, bool chunked) {
  if (size == 0) return;
  if (chunked) {
    char text[18];
    out.append(pool, {text, wire::write_chunk_size(text, size)});
  }
  if (size <= copy_bytes_max) {
    out.append(pool, source.view().substr(at, size));
  } else {
    out.push(source.part(at, size));
  }
  if (chunked) out.append(pool, "\r\n");
}

inline void append_last_chunk(base::BlockPool& pool, base::Chain& out, std::string_view trailers) {
  out.append(pool, "0\r\n");
  out.append(pool, trailers);
  out.append(pool, "\r\n");
}

}  // namespace ebb::gate
