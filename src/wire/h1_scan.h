// Byte classes of RFC 9110 5.6.2 and 5.5, and loops over them. Names are short, so a table decides byte by byte. Values
// and targets are long, so they are read a vector at a time if the compiler's target has vectors. Every function
// returns the first byte outside the class, or `end`; none reads past `end`.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ebb::wire::scan {

inline constexpr std::uint8_t token_byte = 1;
inline constexpr std::uint8_t value_byte = 2;   // HTAB, SP, VCHAR, obs-text
inline constexpr std::uint8_t target_byte = 4;  // VCHAR without '#': a fragment is never sent (RFC 9112 3.2)
inline constexpr std::uint8_t host_byte = 8;    // of a registered name or IPv4 address

inline constexpr std::array<std::uint8_t, 256> classes = [] {
  constexpr std::string_view token_marks = "!#$%&'*+-.^_`|~";
  constexpr std::string_view host_marks = "-._~";
  std::array<std::uint8_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (alphanumeric || token_marks.contains(c)) table[byte] |= token_byte;
    if (alphanumeric || host_marks.contains(c)) table[byte] |= host_byte;
    if (byte == '\t' || (byte >= 0x20 && byte != 0x7f)) table[byte] |= value_byte;
    if (byte > 0x20 && byte < 0x7f && byte != '#') table[byte] |= target_byte;
  }
  return table;
}();

inline constexpr std::array<char, 256> lower_case = [] {
  std::array<char, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    table[byte] = static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 0x20 : byte);
  }
  return table;
}();

constexpr bool is(char byte, std::uint8_t kind) { return (classes[static_cast<std::uint8_t>(byte)] & kind) != 0; }
constexpr char lower(char byte) { return lower_case[static_cast<std::uint8_t>(byte)]; }
constexpr bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }
constexpr bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

#if defined(__AVX2__)
struct Lanes {
  static constexpr std::ptrdiff_t width = 32;
  __m256i bytes;
  static Lanes load(const char* at) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))}; }
  Lanes equal(char c) const { return {_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c))}; }
  Lanes at_most(char c) const { return {_mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(c)), bytes)}; }
  Lanes without(Lanes other) const { return {_mm256_andnot_si256(other.bytes, bytes)}; }
  Lanes operator|(Lanes other) const { return {_mm256_or_si256(bytes, other.bytes)}; }
  unsigned high_bits() const { return static_cast<unsigned>(_mm256_movemask_epi8(bytes)); }
};
#define EBB_SCAN_LANES 1
#elif defined(__SSE2__)
struct Lanes {
  static constexpr std::ptrdiff_t width = 16;
  __m128i bytes;
  static Lanes load(const char* at) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))}; }
  Lanes equal(char c) const { return {_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))}; }
  Lanes at_most(char c) const { return {_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(c)), bytes)}; }
  Lanes without(Lanes other) const { return {_mm_andnot_si128(other.bytes, bytes)}; }
  Lanes operator|(Lanes other) const { return {_mm_or_si128(bytes, other.bytes)}; }
  unsigned high_bits() const { return static_cast<unsigned>(_mm_movemask_epi8(bytes)); }
};
#define EBB_SCAN_LANES 1
#endif

inline const char* skip(const char* at, const char* end, std::uint8_t kind) {
  while (at != end && is(*at, kind)) ++at;
  return at;
}

inline const char* skip_token(const char* at, const char* end) { return skip(at, end, token_byte); }

inline const char* skip_blanks(const char* at, const char* end) {
  while (at != end && is_blank(*at)) ++at;
  return at;
}

inline const char* skip_value(const char* at, const char* end) {
#if defined(EBB_SCAN_LANES)
  while (end - at >= Lanes::width) {
    const Lanes lanes = Lanes::load(at);
    const unsigned stops = (lanes.at_most(0x1f).without(lanes.equal('\t')) | lanes.equal(0x7f)).high_bits();
    if (stops != 0) return at + std::countr_zero(stops);
    at += Lanes::width;
  }
#endif
  return skip(at, end, value_byte);
}

inline const char* skip_target(const char* at, const char* end) {
#if defined(EBB_SCAN_LANES)
  while (end - at >= Lanes::width) {
    const Lanes lanes = Lanes::load(at);
    // The lanes themselves are part of the union: their high bit marks obs-text, which a target may not contain.
    const unsigned stops = (lanes | lanes.at_most(0x20) | lanes.equal(0x7f) | lanes.equal('#')).high_bits();
    if (stops != 0) return at + std::countr_zero(stops);
    at += Lanes::width;
  }
#endif
  return skip(at, end, target_byte);
}
#undef EBB_SCAN_LANES

}  // namespace ebb::wire::scan
