#include "wire/h1_scan.h"

#include <gtest/gtest.h>

#include <memory>

namespace ebb::wire::scan {
namespace {

// Each byte at each place of inputs up to a few vectors long; the copy ends where the input does, so that the sanitizer
// sees any read behind it.
template <class Skip>
void expect_as_the_table(std::uint8_t kind, Skip skip_fast) {
  for (std::size_t size = 1; size <= 70; ++size) {
    const std::unique_ptr<char[]> bytes(new char[size]);
    std::fill_n(bytes.get(), size, 'x');
    const char* end = bytes.get() + size;
    ASSERT_EQ(skip_fast(bytes.get(), end), end);
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        bytes[at] = static_cast<char>(byte);
        ASSERT_EQ(skip_fast(bytes.get(), end), skip(bytes.get(), end, kind)) << byte << " at " << at << " of " << size;
      }
      bytes[at] = 'x';
    }
  }
}

TEST(H1Scan, StopsInVectorsWhereTheTableDoes) {
  expect_as_the_table(value_byte, skip_value);
  expect_as_the_table(target_byte, skip_target);
}

TEST(H1Scan, ClassifiesBytesAsTheGrammarDoes) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool visible = byte > 0x20 && byte < 0x7f;
    EXPECT_EQ(is(c, token_byte), visible && !std::string_view("\"(),/:;<=>?@[\\]{}").contains(c)) << byte;
    EXPECT_EQ(is(c, value_byte), visible || byte == ' ' || byte == '\t' || byte >= 0x80) << byte;
    EXPECT_EQ(is(c, target_byte), visible && c != '#') << byte;
  }
}

}  // namespace
}  // namespace ebb::wire::scan
