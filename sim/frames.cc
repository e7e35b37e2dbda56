#include "sim/frames.h"

#include <nghttp2/nghttp2.h>

namespace ebb::sim {

namespace {

// An integer of HPACK with a prefix of seven bits, for lengths (RFC 7541 5.1).
void append_length(std::string& out, std::size_t value) {
  constexpr std::size_t prefix = 127;
  if (value < prefix) {
    out += static_cast<char>(value);
    return;
  }
  out += static_cast<char>(prefix);
  for (value -= prefix; value >= 128; value >>= 7) out += static_cast<char>((value & 127) | 128);
  out += static_cast<char>(value);
}

}  // namespace

std::string number_text(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string setting_text(Setting setting, std::uint32_t value) {
  const auto number = static_cast<std::uint16_t>(setting);
  return std::string{static_cast<char>(number >> 8), static_cast<char>(number)} + number_text(value);
}

std::string text_of(FrameType type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  std::string text = number_text(static_cast<std::uint32_t>(payload.size())).substr(1);
  text += static_cast<char>(type);
  text += static_cast<char>(flags);
  text += number_text(stream);
  return text.append(payload);
}

std::optional<Frame> take_frame(ByteQueue& bytes, bool& good) {
  const std::string_view view = bytes.view();
  if (view.size() < frame_head_bytes) return {};
  const std::size_t size = number_at(view, 0) >> 8;
  good = size <= frame_bytes_max;
  if (!good || view.size() < frame_head_bytes + size) return {};
  Frame frame{.type = static_cast<FrameType>(view[3]),
              .flags = static_cast<std::uint8_t>(view[4]),
              .stream = number_at(view, 5) & 0x7fffffff,
              .payload = std::string(view.substr(frame_head_bytes, size))};
  bytes.drop(frame_head_bytes + size);
  return frame;
}

std::optional<std::string_view> content_of(const Frame& frame) {
  std::string_view content = frame.payload;
  std::size_t padding = 0;
  if (frame.has(padded)) {
    if (content.empty()) return {};
    padding = static_cast<unsigned char>(content.front());
    content.remove_prefix(1);
  }
  const std::size_t before = frame.type == FrameType::headers && frame.has(with_priority) ? 5 : 0;
  if (content.size() < before + padding) return {};
  return content.substr(before, content.size() - before - padding);
}

// Literals that are not indexed, without Huffman's code (RFC 7541 6.2.2).
std::string pack(const HeadFields& fields) {
  std::string block;
  for (const auto& [name, value] : fields) {
    block += '\0';
    append_length(block, name.size());
    block += name;
    append_length(block, value.size());
    block += value;
  }
  return block;
}

Unpacker::Unpacker() { nghttp2_hd_inflate_new(&inflater_); }
Unpacker::~Unpacker() { nghttp2_hd_inflate_del(inflater_); }

std::optional<HeadFields> Unpacker::unpack(std::string_view block) {
  HeadFields fields;
  const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
  std::size_t left = block.size();
  const auto text = [](const std::uint8_t* bytes, std::size_t size) {
    return std::string(reinterpret_cast<const char*>(bytes), size);
  };
  for (;;) {
    nghttp2_nv field{};
    int flags = 0;
    const auto used = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, at, left, 1);
    if (used < 0) return {};
    at += used;
    left -= static_cast<std::size_t>(used);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
      fields.emplace_back(text(field.name, field.namelen), text(field.value, field.valuelen));
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) break;
  }
  nghttp2_hd_inflate_end_headers(inflater_);
  return fields;
}

}  // namespace ebb::sim
