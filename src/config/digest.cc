#include "config/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/stable_hash.h"

namespace ebb::config {
namespace {

using base::StableHash;
using Names = std::span<const std::string_view>;

constexpr std::string_view local_sections[] = {"access_log", "admin", "audit", "canary", "io", "runtime", "workers"};
constexpr std::string_view local_to_listeners[] = {"bind"};

void add(StableHash& hash, const Node& node, Names left_out);

void add_entries(StableHash& hash, const Node& node, Names left_out, const auto& left_out_below) {
  std::vector<const Entry*> entries;
  for (const Entry& entry : node.entries) {
    if (std::ranges::find(left_out, entry.key) == left_out.end()) entries.push_back(&entry);
  }
  std::ranges::sort(entries, {}, &Entry::key);
  for (const Entry* const entry : entries) {
    hash.add(entry->key);
    add(hash, entry->value, left_out_below(entry->key));
  }
}

// Each kind has its own sign and end mark: [a, [b]] differs from [[a], b].
void add(StableHash& hash, const Node& node, Names left_out) {
  switch (node.kind) {
    case Node::Kind::nothing: hash.add("~"); return;
    case Node::Kind::scalar: hash.add("=").add(node.text); return;
    case Node::Kind::list:
      hash.add("[");
      for (const Node& item : node.items) add(hash, item, left_out);
      hash.add("]");
      return;
    case Node::Kind::mapping:
      hash.add("{");
      add_entries(hash, node, left_out, [](std::string_view) { return Names(); });
      hash.add("}");
      return;
  }
}

}  // namespace

std::string digest_of(const Node& root) {
  StableHash hash;
  add_entries(hash, root, local_sections,
              [](std::string_view section) { return section == "listeners" ? Names(local_to_listeners) : Names(); });
  return fmt::format("{:016x}", hash.value());
}

}  // namespace ebb::config
