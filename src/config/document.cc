#include "config/document.h"

#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

namespace ebb::config {

namespace {

constexpr std::size_t text_bytes_max = std::size_t{16} << 20;
constexpr std::size_t tree_bytes_max = std::size_t{256} << 20;
constexpr std::size_t depth_max = 16;
constexpr std::size_t quoted_bytes_max = 40;
constexpr std::string_view second_document = "the file holds more than one document";

struct Fault {
  Mark mark;
  std::string reason;
};
using Step = std::expected<void, Fault>;

std::unexpected<Fault> fault(Mark mark, std::string reason) { return std::unexpected(Fault{mark, std::move(reason)}); }

// libyaml counts from 0.
Mark mark_of(const yaml_mark_t& mark) { return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1}; }

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

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

// The plain scalars that mean null (YAML 1.2, 10.3.2).
bool means_nothing(std::string_view word) {
  return word.empty() || word == "~" || word == "null" || word == "Null" || word == "NULL";
}

// Accepts no tag, the non-specific tag ("!"), and YAML's own tags such as !!str.
Step check_tag(Mark mark, std::string_view tag) {
  if (tag.empty() || tag == "!" || tag.starts_with("tag:yaml.org,2002:")) return {};
  return fault(mark, "tags such as \"" + std::string(tag) + "\" have no meaning here");
}

// Receives libyaml's events and builds the tree.
class TreeBuilder {
 public:
  Node take_root() { return std::move(root_); }

  Step take(const yaml_event_t& event) {
    const Mark mark = mark_of(event.start_mark);
    const auto& data = event.data;
    switch (event.type) {
      case YAML_SCALAR_EVENT: return scalar(mark, event);
      case YAML_ALIAS_EVENT: return alias(mark, text_of(data.alias.anchor));
      case YAML_SEQUENCE_START_EVENT:
        return open(Node::Kind::list, mark, data.sequence_start.anchor, data.sequence_start.tag);
      case YAML_MAPPING_START_EVENT:
        return open(Node::Kind::mapping, mark, data.mapping_start.anchor, data.mapping_start.tag);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: return close();
      default: return {};
    }
  }

 private:
  struct Open {
    Node node;
    std::string anchor;
    bool has_key = false;  // of a mapping: the last entry has its key, not yet its value
  };

  Step scalar(Mark mark, const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    if (Step tag = check_tag(mark, text_of(scalar.tag)); !tag) return tag;
    Node node{.kind = Node::Kind::scalar, .mark = mark};
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.tag == nullptr;
    if (plain && means_nothing(text)) {
      node.kind = Node::Kind::nothing;
    } else {
      node.text = text;
    }
    return complete(std::move(node), text_of(scalar.anchor));
  }

  // An anchor becomes known once its node is complete, so a node cannot contain itself.
  Step alias(Mark mark, std::string_view anchor) {
    if (std::ranges::find(open_, anchor, &Open::anchor) != open_.end()) {
      return fault(mark, "the alias names a node that it is a part of");
    }
    const auto found = anchors_.find(std::string(anchor));
    if (found == anchors_.end()) return fault(mark, "the alias names a node that is not there");
    const Extent extent = extent_of(found->second);
    if (Step bounded = charge(mark, extent.bytes); !bounded) return bounded;
    if (open_.size() + extent.depth > depth_max) return too_deep(mark);
    Node copy = found->second;
    copy.mark = mark;
    return attach(std::move(copy));
  }

  Step open(Node::Kind kind, Mark mark, const yaml_char_t* anchor, const yaml_char_t* tag) {
    if (Step known = check_tag(mark, text_of(tag)); !known) return known;
    if (open_.size() + 1 > depth_max) return too_deep(mark);
    open_.push_back({{.kind = kind, .mark = mark}, std::string(text_of(anchor))});
    return {};
  }

  Step close() {
    Open last = std::move(open_.back());
    open_.pop_back();
    // The trees of large files live beside their models; spare capacity was a quarter of their memory.
    last.node.items.shrink_to_fit();
    last.node.entries.shrink_to_fit();
    return complete(std::move(last.node), last.anchor);
  }

  Step complete(Node node, std::string_view anchor) {
    if (Step bounded = charge(node.mark, sizeof(Node) + node.text.size()); !bounded) return bounded;
    if (!anchor.empty()) {
      if (Step bounded = charge(node.mark, extent_of(node).bytes); !bounded) return bounded;
      anchors_[std::string(anchor)] = node;
    }
    return attach(std::move(node));
  }

  Step attach(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return {};
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.has_key) {
      parent.node.entries.back().value = std::move(node);
      parent.has_key = false;
    } else {
      if (node.kind != Node::Kind::scalar) return fault(node.mark, "a key must be a word");
      parent.node.entries.push_back({std::move(node.text), node.mark, {}});
      parent.has_key = true;
    }
    return {};
  }

  Step charge(Mark mark, std::size_t bytes) {
    tree_bytes_ += bytes;
    if (tree_bytes_ > tree_bytes_max) return fault(mark, "the document unfolds to more than 256 MiB");
    return {};
  }

  static Step too_deep(Mark mark) { return fault(mark, "nested deeper than 16 levels"); }

  Node root_;
  std::vector<Open> open_;
  std::unordered_map<std::string, Node> anchors_;
  std::size_t tree_bytes_ = 0;
};

// libyaml's parser; the text outlives it.
class Events {
 public:
  explicit Events(std::string_view text) : text_(text) {
    valid_ = yaml_parser_initialize(&parser_) != 0;
    if (!valid_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Events() {
    yaml_event_delete(&event_);
    if (valid_) yaml_parser_delete(&parser_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // Valid until the next call.
  std::expected<const yaml_event_t*, Fault> next() {
    yaml_event_delete(&event_);
    event_ = {};
    if (!valid_ || yaml_parser_parse(&parser_, &event_) == 0) return std::unexpected(why_not());
    return &event_;
  }

 private:
  Fault why_not() const {
    if (!valid_ || parser_.problem == nullptr) return {{}, "out of memory"};
    std::string reason = parser_.problem;
    if (parser_.context != nullptr) reason += std::string(" ") + parser_.context;
    return {parser_.error == YAML_READER_ERROR ? place_of(parser_.problem_offset) : mark_of(parser_.problem_mark),
            reason};
  }

  // For invalid bytes libyaml gives only an offset.
  Mark place_of(std::size_t offset) const {
    const std::string_view before = text_.substr(0, offset);
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return {static_cast<int>(std::ranges::count(before, '\n')) + 1, static_cast<int>(before.size() - line_begin) + 1};
  }

  std::string_view text_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  bool valid_ = false;
};

std::expected<Node, Fault> build_tree(std::string_view text) {
  Events events(text);
  TreeBuilder builder;
  bool begun = false;
  for (;;) {
    const auto event = events.next();
    if (!event) return std::unexpected(event.error());
    const yaml_event_type_t type = (*event)->type;
    if (type == YAML_STREAM_END_EVENT) return builder.take_root();
    if (type == YAML_DOCUMENT_START_EVENT && std::exchange(begun, true)) {
      return fault(mark_of((*event)->start_mark), std::string(second_document));
    }
    if (Step step = builder.take(**event); !step) return std::unexpected(step.error());
  }
}

// By far the most common cause: YAML reads `host: *.example.com` as an alias.
std::string_view remedy_for(std::string_view reason) {
  if (reason.find("alias") != std::string_view::npos) {
    return "put quotes around a value that begins with *, as in \"*.example.com\"";
  }
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
  auto root = build_tree(text);
  if (root) return std::move(*root);
  const auto& [mark, reason] = root.error();
  if (reason == second_document) {
    return std::unexpected(
        Diagnostic{file, mark.line, mark.column, "", reason, "remove what follows the first \"---\""});
  }
  return std::unexpected(
      Diagnostic{file, mark.line, mark.column, "", "not valid YAML: " + reason, std::string(remedy_for(reason))});
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
