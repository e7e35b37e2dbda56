#include "wire/pem_blocks.h"

#include <algorithm>

namespace ebb::wire {

namespace {

constexpr std::string_view dashes = "-----";
// Lines of a block have 64 or 76 characters, words of a comment fewer than this.
constexpr std::size_t shortest_stray = 40;

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view blank = " \t\v\f";
  const std::size_t first = line.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(blank) - first + 1);
}

// A lone carriage return ends a line too: else it would hide a block from us.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view line = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// "-----BEGIN ..." and "-----END ...", also misspelt or cut; a line of dashes only separates parts of a comment.
bool is_mark(std::string_view line) {
  return line.starts_with(dashes) && line.size() > dashes.size() && line[dashes.size()] != '-';
}

// The label in "-----BEGIN LABEL-----" for the word "BEGIN "; "" if the line is no such mark.
std::string_view label_of(std::string_view mark, std::string_view word) {
  mark.remove_prefix(dashes.size());
  if (!mark.starts_with(word) || !mark.ends_with(dashes)) return {};
  if (mark.size() <= word.size() + dashes.size()) return {};
  return mark.substr(word.size(), mark.size() - word.size() - dashes.size());
}

bool is_base64(std::string_view line) {
  while (line.ends_with('=')) line.remove_suffix(1);
  return line.size() >= shortest_stray && std::ranges::all_of(line, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
         });
}

}  // namespace

std::expected<std::vector<std::string_view>, std::string> pem_labels(std::string_view text) {
  std::vector<std::string_view> labels;
  bool inside = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (!is_mark(line)) continue;
    const std::string_view label = label_of(line, inside ? "END " : "BEGIN ");
    if (label.empty() || (inside && label != labels.back())) {
      return std::unexpected(inside ? "a " + std::string(labels.back()) + " block without its END line"
                                    : "a block without its whole BEGIN line");
    }
    if (!inside) labels.push_back(label);
    inside = !inside;
  }
  if (inside) return std::unexpected("a " + std::string(labels.back()) + " block without its END line");
  return labels;
}

bool has_stray_base64(std::string_view text) {
  bool inside = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (is_mark(line)) {
      inside = !label_of(line, "BEGIN ").empty();
    } else if (!inside && is_base64(line)) {
      return true;
    }
  }
  return false;
}

}  // namespace ebb::wire
