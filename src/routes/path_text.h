// Elements of path spellings: triplets ("%2F") and dot segments. For path_form and path_readings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ebb::routes {

// RFC 3986 section 2.3: these need not be encoded, and mean the same if they are.
constexpr bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

inline constexpr std::size_t triplet_size = 3;

constexpr int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The byte that the triplet at `at` encodes; -1 if there is no triplet.
constexpr int triplet(std::string_view text, std::size_t at) {
  if (text[at] != '%' || at + 2 >= text.size()) return -1;
  const int high = hexadecimal(text[at + 1]);
  const int low = hexadecimal(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// In capitals; returns the end of the written text.
constexpr char* write_triplet(char* to, char byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  *to++ = '%';
  *to++ = digits[value >> 4];
  *to++ = digits[value & 15];
  return to;
}
void append_triplet(std::string& out, char byte);

// RFC 3986 section 5.2.4, in place; the path begins with a slash. False: a ".." had nothing above it.
bool remove_dot_segments(std::string& path);

}  // namespace ebb::routes
