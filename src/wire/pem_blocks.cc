#include "wire/pem_blocks.h"

#include <algorithm>

namespace ebb::wire {

namespace {

constexpr std::string_view dashes = "-----";
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
// Lines of a block have 64 or 76 characters; words of a comment have fewer than this.
constexpr std::size_t shortest_stray = 40;

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view blank = " \t\v\f";
  const std::size_t first = line.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(blank) - first + 1);
}

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {
    if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
  }

  bool more() const { return !rest_.empty(); }
  // A lone carriage return also ends a line: otherwise it would hide a block from us.
  std::string_view next() {
    const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    const std::string_view line = trimmed(rest_.substr(0, end));
    const bool both = rest_.substr(end).starts_with("\r\n");
    rest_.remove_prefix(std::min(end + (both ? 2 : 1), rest_.size()));
    number_ += 1;
    return line;
  }
  std::string here() const { return " (line " + std::to_string(number_) + ")"; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;  // of the last line
};

// "-----BEGIN ..." and "-----END ...", also misspelt or cut; lines of dashes and words between dashes are comments.
bool is_mark(std::string_view line) {
  return line.starts_with(dashes) && line.size() > dashes.size() && is_capital(line[dashes.size()]);
}

// The label in "-----BEGIN LABEL-----" for the word "BEGIN "; "" if the line is no such mark.
std::string_view label_of(std::string_view mark, std::string_view word) {
  mark.remove_prefix(dashes.size());
  if (!mark.starts_with(word) || !mark.ends_with(dashes)) return {};
  if (mark.size() <= word.size() + dashes.size()) return {};
  return mark.substr(word.size(), mark.size() - word.size() - dashes.size());
}

// True for characters of every kind, which excludes hexadecimal fingerprints and file paths.
bool is_base64(std::string_view line) {
  while (line.ends_with('=')) line.remove_suffix(1);
  const auto belongs = [](char c) { return is_capital(c) || is_small(c) || is_digit(c) || c == '+' || c == '/'; };
  return line.size() >= shortest_stray && std::ranges::all_of(line, belongs) && std::ranges::any_of(line, is_capital) &&
         std::ranges::any_of(line, is_small) && std::ranges::any_of(line, is_digit);
}

}  // namespace

std::expected<std::vector<std::string_view>, std::string> pem_labels(std::string_view text) {
  std::vector<std::string_view> labels;
  bool inside = false;
  Lines lines(text);
  while (lines.more()) {
    const std::string_view line = lines.next();
    if (!is_mark(line)) continue;
    const std::string_view label = label_of(line, inside ? "END " : "BEGIN ");
    if (label.empty() || (inside && label != labels.back())) {
      return std::unexpected((inside ? "a " + std::string(labels.back()) + " block without its END line"
                                     : "a block without its whole BEGIN line") +
                             lines.here());
    }
    if (!inside) labels.push_back(label);
    inside = !inside;
  }
  if (inside) return std::unexpected("a " + std::string(labels.back()) + " block without its END line");
  return labels;
}

std::expected<void, std::string> expect_no_stray_base64(std::string_view text) {
  bool inside = false;
  Lines lines(text);
  while (lines.more()) {
    const std::string_view line = lines.next();
    if (is_mark(line)) {
      inside = !label_of(line, "BEGIN ").empty();
    } else if (!inside && is_base64(line)) {
      return std::unexpected("half a block outside of all others" + lines.here());
    }
  }
  return {};
}

}  // namespace ebb::wire
