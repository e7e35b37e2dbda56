// A YAML text as a tree of plain nodes with marks, built from libyaml's events. The tree keeps the marks of keys and
// duplicate keys, and bounds the expansion of aliases.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/diagnostic.h"

namespace ebb::config {

// Line and column from 1.
struct Mark {
  int line = 1;
  int column = 1;
};

struct Entry;

struct Node {
  enum class Kind { nothing, scalar, list, mapping };

  Kind kind = Kind::nothing;
  Mark mark;
  std::string text;            // of a scalar
  std::vector<Node> items;     // of a list
  std::vector<Entry> entries;  // of a mapping, in file order; keeps duplicates, which the reader refuses

  // "a list", "nothing", "\"text\"": for messages.
  std::string description() const;
};

struct Entry {
  std::string key;
  Mark mark;  // of the key
  Node value;
};

// Reads one document. The text (16 MiB), the depth and the size of the tree after alias expansion are bounded: a few
// lines of aliases cannot expand to gigabytes.
std::expected<Node, Diagnostic> parse_document(std::string_view text, const std::string& file);

// The node of a key such as "routes[3].backend", or the nearest parent that exists.
Mark locate(const Node& root, std::string_view key);

}  // namespace ebb::config
