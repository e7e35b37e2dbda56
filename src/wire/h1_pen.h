// Writes a head into one pooled block. For h1_write_request and h1_write_response.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/block.h"
#include "wire/h1_head.h"

namespace ebb::wire {

inline constexpr std::size_t decimal_digits_max = 20;
inline constexpr std::size_t line_overhead = 4;  // ": " and CRLF

// Writes into a block sized for the worst case; finish() asserts that it was large enough.
class Pen {
 public:
  // The text begins at `from`; the bytes before belong to the caller.
  Pen(base::BlockPool& pool, std::size_t bound, std::size_t from = 0)
      : slice_(*pool.take(static_cast<std::uint32_t>(bound)).block(), static_cast<std::uint32_t>(from), 0),
        at_(slice_.mutable_data()) {}

  Pen& text(std::string_view bytes) {
    at_ = std::copy(bytes.begin(), bytes.end(), at_);  // unlike memcpy, accepts an empty view without data
    return *this;
  }
  Pen& number(std::uint64_t value) {
    at_ = std::to_chars(at_, at_ + decimal_digits_max, value).ptr;
    return *this;
  }
  Pen& line(std::string_view name, std::string_view value) { return text(name).text(": ").text(value).text("\r\n"); }
  std::size_t size() const { return static_cast<std::size_t>(at_ - slice_.data()); }
  char* block_data() { return slice_.block()->data(); }
  base::Slice finish() {
    slice_.extend(static_cast<std::uint32_t>(at_ - slice_.data()));
    return std::move(slice_);
  }

 private:
  base::Slice slice_;
  char* at_;
};

inline std::size_t bytes_of(const Fields& fields) {
  std::size_t sum = 0;
  for (const Field& field : fields.all()) sum += field.name.size() + field.value.size() + line_overhead;
  return sum;
}
inline void write_length(Pen& pen, std::uint64_t length) { pen.text("Content-Length: ").number(length).text("\r\n"); }

}  // namespace ebb::wire
