// A YAML text as a tree of plain nodes with their places, built from the events of libyaml. The tree keeps the marks of
// keys and both of two equal keys, and bounds the expansion of aliases.
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
  std::vector<Entry> entries;  // of a mapping, in the order of the file; equal keys are kept, the reader refuses them

  // "a list", "nothing", "\"text\"": for messages.
  std::string description() const;
};

struct Entry {
  std::string key;
  Mark mark;  // of the key
  Node value;
};

// Reads one document. Everything is bounded: the text (16 MiB), the depth, and the size of the tree with all aliases
// replaced by what they stand for, so that a few lines cannot unfold into gigabytes.
std::expected<Node, Diagnostic> parse_document(std::string_view text, const std::string& file);

// The node that a key such as "routes[3].backend" names, or its nearest parent that exists.
Mark locate(const Node& root, std::string_view key);

}  // namespace ebb::config
