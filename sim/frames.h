// HTTP/2 on the wire as a test understands it (RFC 9113): frames are put together and taken apart by hand, apart from
// wire/, so that a mistake there is not repeated here, and so that what no library would send can be sent. Heads are
// packed as literals; unpacking is left to nghttp2, which knows all of HPACK.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/byte_queue.h"

struct nghttp2_hd_inflater;

namespace ebb::sim {

enum class FrameType : std::uint8_t {
  data,
  headers,
  priority,
  rst_stream,
  settings,
  push_promise,
  ping,
  goaway,
  window_update,
  continuation,
  unknown = 0xbb,
};

enum FrameFlag : std::uint8_t { end_stream = 1, ack = 1, end_headers = 4, padded = 8, with_priority = 32 };

enum class H2Error : std::uint32_t { no_error = 0, protocol = 1, internal = 2, refused_stream = 7, cancel = 8 };

enum class Setting : std::uint16_t { streams_max = 3, window = 4, connect_protocol = 8 };

struct Frame {
  FrameType type = FrameType::unknown;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string payload;

  bool has(FrameFlag flag) const { return (flags & flag) != 0; }
};

inline constexpr std::size_t frame_head_bytes = 9;
inline constexpr std::size_t frame_bytes_max = 16384;
inline constexpr std::string_view h2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string text_of(FrameType type, std::uint8_t flags, std::uint32_t stream, std::string_view payload);
std::string number_text(std::uint32_t value);
std::string setting_text(Setting setting, std::uint32_t value);
std::uint32_t number_at(std::string_view bytes, std::size_t at);

// Takes the first frame out of the queue if it is whole. False in `good`: it is too long.
std::optional<Frame> take_frame(ByteQueue& bytes, bool& good);
// Without padding and priority.
std::optional<std::string_view> content_of(const Frame& frame);

using HeadFields = std::vector<std::pair<std::string, std::string>>;

std::string pack(const HeadFields& fields);

class Unpacker {
 public:
  Unpacker();
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  std::optional<HeadFields> unpack(std::string_view block);

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
};

}  // namespace ebb::sim
