#include "reap/connect_scopes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "reap/arm_program.h"

namespace ebb::reap {
namespace {

bool is_open(const std::vector<std::string>& patterns) {
  return patterns.empty() || std::ranges::find(patterns, "*") != patterns.end();
}

// "/kubepods.slice/*" names a group with everything below it; the kernel attaches programs to exactly that. It cannot
// express other patterns, nor single groups, which may have others below them.
std::optional<std::string> subtree(std::string_view pattern) {
  if (pattern == "*") return "";
  if (!pattern.ends_with("/*")) return std::nullopt;
  pattern.remove_suffix(2);
  if (pattern.find_first_of("*?[") != std::string_view::npos) return std::nullopt;
  return std::string(pattern);
}

std::optional<std::vector<std::uint16_t>> ports_of(const AllowRow& row) {
  std::vector<std::uint16_t> ports;
  for (const std::uint32_t port : row.port) {
    if (port <= std::numeric_limits<std::uint16_t>::max()) ports.push_back(static_cast<std::uint16_t>(port));
  }
  if (ports.size() != row.port.size() || ports.size() > armed_ports_max) return std::nullopt;
  return ports;
}

}  // namespace

ConnectScopes connect_scopes(std::span<const AllowRow> rows) {
  ConnectScopes found;
  for (const AllowRow& row : rows) {
    const auto ports = ports_of(row);
    if (!is_open(row.netns) || !is_open(row.process) || !row.uid.empty() || !row.labels.empty() || !ports) {
      ++found.rows_left_out;
      continue;
    }
    if (is_open(row.cgroup)) {
      found.scopes.push_back({"", *ports});
      continue;
    }
    bool whole = true;
    for (const std::string& pattern : row.cgroup) {
      auto cgroup = subtree(pattern);
      whole = whole && cgroup;
      if (cgroup) found.scopes.push_back({std::move(*cgroup), *ports});
    }
    if (!whole) ++found.rows_left_out;
  }
  return found;
}

}  // namespace ebb::reap
