// The fields of one header block as nghttp2 decodes them, back to back in a reused buffer. A block may span several
// receives (CONTINUATION), so it belongs to its session; between blocks it holds little.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ebb::wire {

class HeaderBlock {
 public:
  explicit HeaderBlock(std::uint32_t bytes_max) : bytes_max_(bytes_max) {}

  void clear() {
    if (bytes_.capacity() > keep_bytes) bytes_ = {};
    bytes_.clear();
    decoded_ = 0;
    too_large_ = path_too_large_ = false;
  }

  // Fields beyond the limit are counted but not kept: HPACK's state requires decoding the rest of the block.
  void add(std::string_view name, std::string_view value) {
    constexpr std::size_t line_overhead = 4;  // as in an HTTP/1 head, which the limit is for
    decoded_ += name.size() + value.size() + line_overhead;
    if (too_large_ || decoded_ > bytes_max_) {
      path_too_large_ = path_too_large_ || (!too_large_ && name == ":path");
      too_large_ = true;
      return;
    }
    const Sizes sizes{static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(value.size())};
    const std::size_t before = bytes_.size();
    const std::size_t after = before + sizeof sizes + name.size() + value.size();
    bytes_.resize_and_overwrite(after, [&](char* bytes, std::size_t) {
      char* at = bytes + before;
      std::memcpy(at, &sizes, sizeof sizes);
      at += sizeof sizes;
      std::memcpy(at, name.data(), name.size());  // never empty
      if (!value.empty()) std::memcpy(at + name.size(), value.data(), value.size());
      return after;
    });
  }

  std::size_t decoded() const { return decoded_; }
  bool too_large() const { return too_large_; }
  bool path_too_large() const { return path_too_large_; }

  // Views live until the next clear or add.
  class Walk {
   public:
    explicit Walk(const HeaderBlock& block) : rest_(block.bytes_) {}
    bool next(std::string_view& name, std::string_view& value) {
      if (rest_.empty()) return false;
      Sizes sizes;
      std::memcpy(&sizes, rest_.data(), sizeof sizes);
      name = rest_.substr(sizeof sizes, sizes.name);
      value = rest_.substr(sizeof sizes + sizes.name, sizes.value);
      rest_.remove_prefix(sizeof sizes + sizes.name + sizes.value);
      return true;
    }

   private:
    std::string_view rest_;
  };

 private:
  struct Sizes {
    std::uint32_t name = 0;
    std::uint32_t value = 0;
  };
  static constexpr std::size_t keep_bytes = 4096;

  std::uint32_t bytes_max_;
  std::string bytes_;
  std::size_t decoded_ = 0;
  bool too_large_ = false;
  bool path_too_large_ = false;
};

}  // namespace ebb::wire
