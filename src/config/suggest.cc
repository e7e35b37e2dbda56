#include "config/suggest.h"

#include <algorithm>
#include <vector>

namespace ebb::config {

namespace {

// Longer words are not typing errors; the bound also keeps the table small for hostile input.
constexpr std::size_t word_length_max = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

std::string suggest(std::string_view written, std::span<const std::string_view> known) {
  std::string_view nearest;
  // Up to a third of the letters may be wrong: `rotues` suggests `routes`, but `tls` does not suggest `all`.
  std::size_t best = written.size() / 3 + 1;
  if (written.size() <= word_length_max) {
    for (const std::string_view word : known) {
      const std::size_t distance = edit_distance(written, word);
      if (distance >= best) continue;
      best = distance;
      nearest = word;
    }
  }
  if (!nearest.empty()) return "did you mean `" + std::string(nearest) + "`?";
  std::string all = "known are ";
  for (const std::string_view word : known) all += (word == known.front() ? "`" : ", `") + std::string(word) + "`";
  return all;
}

}  // namespace ebb::config
