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
// above U+10FFFF); 0 if there is none. Called for bytes from 0x80 on.
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

// Appends the run of plain bytes at the front and returns the rest: nearly all text is one such run.
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

}  // namespace

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
    } else if (byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) {  // C1: U+009B starts terminal sequences
      append_json_ascii(out, static_cast<unsigned char>(text[1]));
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
  // Not inside a UTF-8 sequence; its lead is at most three bytes back.
  std::size_t cut = bytes_max;
  for (int back = 0; back < 3 && cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80; ++back) --cut;
  escape(out, text.substr(0, cut));
  out += "...(+";
  out += std::to_string(text.size() - cut);
  out += ')';
}

}  // namespace ebb::observe
