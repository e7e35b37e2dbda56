#include "reap/allow.h"

#include <fnmatch.h>

#include <algorithm>

namespace ebb::reap {
namespace {

bool matches_one(const std::vector<std::string>& patterns, std::string_view text) {
  if (patterns.empty()) return true;
  if (text.empty()) return false;
  const std::string ended(text);
  return std::ranges::any_of(patterns, [&ended](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), ended.c_str(), FNM_NOESCAPE) == 0;
  });
}

bool has_one(const std::vector<std::uint32_t>& numbers, auto... any_of) {
  return numbers.empty() || std::ranges::any_of(numbers, [=](std::uint32_t one) { return ((one == any_of) || ...); });
}

bool matches(const AllowRow& row, const Belonging& of) {
  if (row.empty()) return false;
  if (!matches_one(row.netns, of.netns) || !matches_one(row.process, of.process)) return false;
  if (!matches_one(row.cgroup, of.cgroup) || !has_one(row.uid, of.uid)) return false;
  const std::uint32_t port = of.peer.port();
  if (!has_one(row.port, port, of.real_peer.valid() ? std::uint32_t{of.real_peer.port()} : port)) return false;
  return std::ranges::all_of(
      row.labels, [&of](const Label& label) { return std::ranges::find(of.labels, label) != of.labels.end(); });
}

}  // namespace

const AllowRow* allowed_by(std::span<const AllowRow> rows, const Belonging& belonging) {
  const auto found = std::ranges::find_if(rows, [&](const AllowRow& row) { return matches(row, belonging); });
  return found == rows.end() ? nullptr : &*found;
}

bool is_at(const Place& place, std::string_view netns, std::string_view cgroup) {
  if (place.netns.empty() && place.cgroup.empty()) return false;
  return matches_one(place.netns, netns) && matches_one(place.cgroup, cgroup);
}

bool may_allow_in(std::span<const AllowRow> rows, std::string_view netns) {
  return std::ranges::any_of(rows, [netns](const AllowRow& row) { return matches_one(row.netns, netns); });
}

}  // namespace ebb::reap
