#include "routes/path_form.h"

#include <array>

#include "routes/normalise.h"
#include "routes/path_text.h"

namespace ebb::routes {

namespace {

// Further characters that a path may hold (RFC 3986 section 3.3). Excludes "+", which some read as a blank, and ";",
// which begins a parameter.
constexpr bool stands_for_itself(char c) { return is_unreserved(c) || std::string_view("!$&'()*,=:@").contains(c); }

// Decodes the triplets for which `wanted` holds; writes the others in capitals. False: a triplet is malformed, or NUL.
template <class Wanted>
bool decode(std::string_view text, std::string& out, Wanted wanted) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int byte = triplet(text, i);
    if (byte <= 0) return false;
    if (wanted(static_cast<char>(byte))) {
      out.push_back(static_cast<char>(byte));
    } else {
      append_triplet(out, static_cast<char>(byte));
    }
    i += 2;
  }
  return true;
}

}  // namespace

bool has_one_spelling(std::string_view path) {
  static constexpr std::array<bool, 256> odd = [] {
    std::array<bool, 256> table{};
    for (const char c : {'%', '\\', ';', '/', '?', '#'}) table[static_cast<unsigned char>(c)] = true;
    return table;
  }();
  const std::size_t size = path.size();
  for (std::size_t i = 0; i < size; ++i) {
    if (!odd[static_cast<unsigned char>(path[i])]) continue;
    if (path[i] == '?' || path[i] == '#') return true;
    if (path[i] != '/') return false;
    if (i + 1 == size) return true;
    if (path[i + 1] == '/') return false;
    if (path[i + 1] != '.') continue;
    std::size_t end = i + 2;
    if (end < size && path[end] == '.') ++end;
    if (end == size || path[end] == '/' || path[end] == '?' || path[end] == '#' || path[end] == ';') return false;
  }
  return true;
}

bool normalise_path(std::string_view path, std::string& out) {
  const std::string_view before_query = without_query(path);
  if (before_query.contains('\\') || !decode(before_query, out, is_unreserved)) return false;
  if (out.starts_with('/')) remove_dot_segments(out);
  out.append(path.substr(before_query.size()));
  return true;
}

bool is_strict(std::string_view path) {
  std::string normal;
  if (!normalise_path(path, normal) || normal.size() != path.size()) return false;
  const std::string_view before_query = without_query(normal);
  if (before_query.contains(';') || before_query.contains("//")) return false;
  return !before_query.contains("%2F") && !before_query.contains("%5C") && !before_query.contains("%3B");
}

bool is_configured_form(std::string_view path, std::string& wanted) {
  if (path.contains('\\') || !decode(path, wanted, stands_for_itself)) {
    wanted.clear();
    return false;
  }
  if (wanted.starts_with('/')) remove_dot_segments(wanted);
  return wanted == path;
}

}  // namespace ebb::routes
