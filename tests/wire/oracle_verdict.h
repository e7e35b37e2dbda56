// What a reader of HTTP/1 makes of some bytes, in terms that ours, llhttp and Boost.Beast share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/h1_head.h"

namespace ebb::wire::oracle {

struct HeadVerdict {
  Parsed::Status status = Parsed::Status::incomplete;
  Framing framing = Framing::none;
  std::uint64_t content_length = 0;  // Framing::length only
  std::string why;                   // refused: the reader's own words
};

struct BodyVerdict {
  Parsed::Status status = Parsed::Status::incomplete;
  std::string payload;
  std::size_t consumed = 0;  // complete: bytes of the body
  std::string why;
};

struct Reader {
  const char* name;
  HeadVerdict (*request)(std::string_view bytes);
  HeadVerdict (*response)(std::string_view bytes);  // to a GET
  BodyVerdict (*chunked)(std::string_view bytes);
};

Reader ours();
Reader llhttp();
Reader beast();

// The head that oracles without a separate body reader are given before a chunked body.
inline constexpr std::string_view chunked_head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace ebb::wire::oracle
