#include "wire/host_name.h"

#include <algorithm>

namespace ebb::wire {

namespace {

// RFC 1035 section 2.3.4, in text form.
constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

// Underscores are not part of RFC 1123 host names, but such names are in use.
bool is_label(std::string_view label) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= longest_label && std::ranges::all_of(label, allowed);
}

bool is_name(std::string_view name) {
  for (;;) {
    const std::size_t dot = name.find('.');
    if (!is_label(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string normal_name(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.size() > longest_name) return "";
  std::string name(text);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const std::string_view plain = name.starts_with("*.") ? std::string_view(name).substr(2) : std::string_view(name);
  return is_name(plain) ? name : "";
}

}  // namespace ebb::wire
