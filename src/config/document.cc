#include "config/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <unordered_map>

namespace ebb::config {

namespace {

constexpr std::size_t text_bytes_max = std::size_t{16} << 20;
constexpr std::size_t tree_bytes_max = std::size_t{256} << 20;
constexpr std::size_t depth_max = 16;
constexpr std::size_t quoted_bytes_max = 40;

// The library counts from 0, and has -1 for "nowhere".
Mark mark_of(const YAML::Mark& mark) { return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1}; }

struct Extent {
  std::size_t bytes;
  std::size_t depth;
};

Extent extent_of(const Node& node) {
  Extent extent{sizeof(Node) + node.text.size(), 0};
  const auto add = [&extent](const Node& part) {
    const Extent inner = extent_of(part);
    extent.bytes += inner.bytes;
    extent.depth = std::max(extent.depth, inner.depth);
  };
  for (const Node& item : node.items) add(item);
  for (const Entry& entry : node.entries) {
    extent.bytes += entry.key.size();
    add(entry.value);
  }
  if (node.kind == Node::Kind::list || node.kind == Node::Kind::mapping) extent.depth += 1;
  return extent;
}

// Receives the library's events and builds the tree. Throws the library's own exception, which the caller converts.
class TreeBuilder final : public YAML::EventHandler {
 public:
  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    complete(make(Node::Kind::nothing, mark), anchor, mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    complete(make(Node::Kind::scalar, mark, value), anchor, mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // An anchor is known once its node is complete, so that a node inside itself is not.
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YAML::ParserException(mark, "the alias names a node that it is a part of");
    const Extent extent = extent_of(found->second);
    charge(mark, extent.bytes);
    check_depth(mark, open_.size() + extent.depth);
    Node copy = found->second;
    copy.mark = mark_of(mark);
    attach(std::move(copy), mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    bool has_key = false;  // of a mapping: the last entry still waits for its value
  };

  // "?" and "!" are the library's marks for plain and quoted nodes without a tag.
  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!" || tag.starts_with("tag:yaml.org,2002:")) return;
    throw YAML::ParserException(mark, "tags such as \"" + tag + "\" have no meaning here");
  }

  void charge(const YAML::Mark& mark, std::size_t bytes) {
    tree_bytes_ += bytes;
    if (tree_bytes_ > tree_bytes_max) throw YAML::ParserException(mark, "the document unfolds to more than 256 MiB");
  }

  static void check_depth(const YAML::Mark& mark, std::size_t depth) {
    if (depth > depth_max) throw YAML::ParserException(mark, "nested deeper than 16 levels");
  }

  Node make(Node::Kind kind, const YAML::Mark& mark, std::string text = {}) {
    charge(mark, sizeof(Node) + text.size());
    return {.kind = kind, .mark = mark_of(mark), .text = std::move(text), .items = {}, .entries = {}};
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    check_depth(mark, open_.size() + 1);
    open_.push_back({make(kind, mark), anchor, mark});
  }

  void close() {
    Open last = std::move(open_.back());
    open_.pop_back();
    // Trees of large files live beside the models that are made of them: a quarter of their memory was spare room.
    last.node.items.shrink_to_fit();
    last.node.entries.shrink_to_fit();
    complete(std::move(last.node), last.anchor, last.mark);
  }

  void complete(Node node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (anchor != 0) {
      charge(mark, extent_of(node).bytes);
      anchors_[anchor] = node;
    }
    attach(std::move(node), mark);
  }

  void attach(Node node, const YAML::Mark& mark) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.has_key) {
      parent.node.entries.back().value = std::move(node);
      parent.has_key = false;
    } else {
      if (node.kind != Node::Kind::scalar) throw YAML::ParserException(mark, "a key must be a word");
      parent.node.entries.push_back({std::move(node.text), node.mark, {}});
      parent.has_key = true;
    }
  }

  Node root_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Node> anchors_;
  std::size_t tree_bytes_ = 0;
};

// The usual cause by far: `host: *.example.com` is an alias to YAML.
std::string_view remedy_for(std::string_view reason) {
  const bool about_alias = reason.find("alias") != std::string_view::npos || reason == YAML::ErrorMsg::UNKNOWN_ANCHOR;
  if (about_alias) return "put quotes around a value that begins with *, as in \"*.example.com\"";
  return "look for a missing colon, quote or bracket here or in the line above, and for tabs";
}

}  // namespace

std::string Node::description() const {
  switch (kind) {
    case Kind::nothing: return "nothing";
    case Kind::list: return "a list";
    case Kind::mapping: return "a mapping";
    case Kind::scalar: break;
  }
  if (text.size() <= quoted_bytes_max) return "\"" + text + "\"";
  return "\"" + text.substr(0, quoted_bytes_max) + "...\"";
}

std::expected<Node, Diagnostic> parse_document(std::string_view text, const std::string& file) {
  if (text.size() > text_bytes_max) {
    return std::unexpected(Diagnostic{file, 0, 0, "", "the file is larger than 16 MiB", "split the work over routers"});
  }
  const auto refused = [&file](const YAML::Mark& at, const std::string& reason) {
    const Mark mark = mark_of(at);
    return std::unexpected(
        Diagnostic{file, mark.line, mark.column, "", "not valid YAML: " + reason, std::string(remedy_for(reason))});
  };
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (!parser.HandleNextDocument(builder)) return Node{};
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      return std::unexpected(
          Diagnostic{file, 0, 0, "", "the file holds more than one document", "remove what follows the first \"---\""});
    }
    return builder.take();
  } catch (const YAML::Exception& error) {
    return refused(error.mark, error.msg);
  } catch (const std::exception& error) {
    return refused(YAML::Mark::null_mark(), error.what());
  }
}

Mark locate(const Node& root, std::string_view key) {
  const Node* node = &root;
  Mark mark = root.mark;
  while (!key.empty()) {
    if (key.front() == '[') {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(key.data() + 1, key.data() + key.size(), index);
      if (error != std::errc{} || index >= node->items.size()) return mark;
      node = &node->items[index];
      mark = node->mark;
      key.remove_prefix(std::min(key.find(']'), key.size() - 1) + 1);
    } else {
      if (key.front() == '.') key.remove_prefix(1);
      const std::string_view name = key.substr(0, key.find_first_of(".["));
      const auto found = std::ranges::find(node->entries, name, &Entry::key);
      if (found == node->entries.end()) return mark;
      node = &found->value;
      mark = node->mark;
      key.remove_prefix(name.size());
    }
  }
  return mark;
}

}  // namespace ebb::config
