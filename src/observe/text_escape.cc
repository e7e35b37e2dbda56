#include "observe/text_escape.h"

namespace ebb::observe {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

bool plain(unsigned char byte) { return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\'; }

void append_hex(std::string& out, unsigned char byte) {
  out += hex_digits[byte >> 4];
  out += hex_digits[byte & 15];
}

// Length of the well-formed UTF-8 sequence at the front (RFC 3629 section 4: no overlong forms, no surrogates, nothing
// above U+10FFFF); 0 if there is none. For bytes from 0x80 on.
std::size_t sequence_length(std::string_view text) {
  const auto at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto between = [](unsigned byte, unsigned low, unsigned high) { return byte >= low && byte <= high; };
  const unsigned first = at(0);
  if (between(first, 0xc2, 0xdf)) return between(at(1), 0x80, 0xbf) ? 2 : 0;
  if (between(first, 0xe0, 0xef)) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : 0xbf;
    return between(at(1), low, high) && between(at(2), 0x80, 0xbf) ? 3 : 0;
  }
  if (between(first, 0xf0, 0xf4)) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    const bool good = between(at(1), low, high) && between(at(2), 0x80, 0xbf) && between(at(3), 0x80, 0xbf);
    return good ? 4 : 0;
  }
  return 0;
}

// For a well-formed sequence of more than one byte.
std::uint32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence.front());
  std::uint32_t code = first & (0xffU >> (sequence.size() + 1));
  for (const char next : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(next) & 0x3fU);
  return code;
}

// C1 controls, of which U+009B starts terminal sequences; line separators; invisible characters that reorder or hide
// letters (UAX 9).
bool deceives(std::uint32_t code) {
  const auto between = [code](std::uint32_t low, std::uint32_t high) { return code >= low && code <= high; };
  return between(0x80, 0x9f) || code == 0x61c || between(0x200b, 0x200f) || between(0x2028, 0x202e) ||
         between(0x2060, 0x206f) || code == 0xfeff || between(0xfff9, 0xfffb) || between(0xe0000, 0xe007f);
}

// Appends the run of plain bytes at the front and returns the rest. Nearly all texts are one such run.
std::string_view append_plain_run(std::string& out, std::string_view text) {
  std::size_t run = 0;
  while (run < text.size() && plain(static_cast<unsigned char>(text[run]))) ++run;
  out.append(text, 0, run);
  return text.substr(run);
}

void append_json_ascii(std::string& out, unsigned char byte) {
  if (byte == '"' || byte == '\\') {
    out += '\\';
    out += static_cast<char>(byte);
    return;
  }
  out += "\\u00";
  append_hex(out, byte);
}

void append_json_unit(std::string& out, std::uint32_t unit) {
  out += "\\u";
  append_hex(out, static_cast<unsigned char>(unit >> 8));
  append_hex(out, static_cast<unsigned char>(unit));
}

// RFC 8259 section 7: code points beyond the basic plane become two UTF-16 units.
void append_json_code(std::string& out, std::uint32_t code) {
  if (code < 0x10000) return append_json_unit(out, code);
  append_json_unit(out, 0xd800 + ((code - 0x10000) >> 10));
  append_json_unit(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
}

void append_byte(std::string& out, unsigned char byte) {
  out += "\\x";
  append_hex(out, byte);
}

std::string visible(std::string_view text, bool keeps_lines) {
  std::string out;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    std::size_t length = 1;
    if (byte < 0x80) {
      const bool kept = (byte >= 0x20 && byte < 0x7f) || (keeps_lines && (byte == '\n' || byte == '\t'));
      if (kept) {
        out += static_cast<char>(byte);
      } else {
        append_byte(out, byte);
      }
    } else if ((length = sequence_length(text)) == 0) {
      length = 1;
      append_byte(out, byte);
    } else if (deceives(code_point(text.substr(0, length)))) {
      for (const char each : text.substr(0, length)) append_byte(out, static_cast<unsigned char>(each));
    } else {
      out.append(text, 0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string visible(std::string_view text) { return visible(text, false); }
std::string visible_lines(std::string_view text) { return visible(text, true); }

void append_json_escaped(std::string& out, std::string_view text) {
  while (!(text = append_plain_run(out, text)).empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    std::size_t length = 1;
    if (byte < 0x80) {
      append_json_ascii(out, byte);
    } else if ((length = sequence_length(text)) == 0) {
      length = 1;
      out += "\\\\x";
      append_hex(out, byte);
    } else if (const std::uint32_t code = code_point(text.substr(0, length)); deceives(code)) {
      append_json_code(out, code);
    } else {
      out.append(text, 0, length);
    }
    text.remove_prefix(length);
  }
}

void append_byte_escaped(std::string& out, std::string_view text) {
  while (!(text = append_plain_run(out, text)).empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    out += '\\';
    if (byte == '"' || byte == '\\') {
      out += static_cast<char>(byte);
    } else {
      out += 'x';
      append_hex(out, byte);
    }
    text.remove_prefix(1);
  }
}

void append_cut(std::string& out, std::string_view text, std::size_t bytes_max,
                void (*escape)(std::string&, std::string_view)) {
  if (text.size() <= bytes_max) return escape(out, text);
  // Do not cut inside a UTF-8 sequence; its lead byte is at most three bytes back.
  std::size_t cut = bytes_max;
  for (int back = 0; back < 3 && cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80; ++back) --cut;
  escape(out, text.substr(0, cut));
  out += "...(+";
  out += std::to_string(text.size() - cut);
  out += ')';
}

}  // namespace ebb::observe
