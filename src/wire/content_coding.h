// Compression of responses (RFC 9110 section 8.4.1) as a stream: payload in, coded payload out. zlib, brotli and zstd
// are named in content_coding.cc only. Windows are kept small, because a stream per response holds its memory.
//
// Before: gate/response_path. Next: the writer of the client's protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/block.h"

namespace ebb::wire {

enum class ContentCoding : std::uint8_t { gzip, brotli, zstd };

std::string_view name(ContentCoding coding);  // as in Content-Encoding

// Whether Accept-Encoding allows the coding (RFC 9110 section 12.5.3): by name or by "*", with a weight above 0. A
// missing field allows none: the client may be too old to know the coding.
bool accepts(std::string_view accept_encoding, ContentCoding coding);

class Encoder {
 public:
  static std::unique_ptr<Encoder> make(ContentCoding coding);
  static std::size_t memory(ContentCoding coding);  // of one encoder, approximately
  virtual ~Encoder() = default;

  enum class After : std::uint8_t {
    more,   // more input follows: the encoder may hold bytes back
    flush,  // the peer must be able to read all input so far
    end,
  };
  virtual void encode(base::BlockPool& pool, std::string_view payload, After after, base::Chain& out) = 0;
};

}  // namespace ebb::wire
