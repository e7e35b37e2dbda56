// Tables of keys. A key joins a name, a member, the format of its value and a sentence for the reference. The file
// reader and the reference writer use the same tables, so both know the same keys.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.h"

namespace ebb::config {

template <class Object>
struct Value {
  std::string (*type)();
  void (*read)(Reader&, const Node&, Object&);
  std::string (*show)(const Object&);  // of a default; "" if there is none
};

enum class Need { optional, required };

template <class Object>
struct Key {
  std::string_view name;
  Value<Object> value;
  std::string_view meaning;
  Need need = Need::optional;
};

template <class Object>
using Keys = std::span<const Key<Object>>;

template <class Object>
void read_mapping(Reader& reader, const Node& node, Keys<Object> keys, Object& object) {
  std::vector<std::string_view> names;
  for (const Key<Object>& key : keys) names.push_back(key.name);
  if (!reader.expect(node, Node::Kind::mapping, "a mapping", "write `key: value` lines")) return;

  std::vector<const Entry*> given(keys.size());
  for (const Entry& entry : node.entries) {
    const Reader::Inside inside(reader, "." + entry.key);
    const auto found = std::ranges::find(names, entry.key);
    if (found == names.end()) {
      reader.refuse(entry.mark, "there is no such key", suggest(entry.key, names));
      continue;
    }
    const auto index = static_cast<std::size_t>(found - names.begin());
    if (given[index] != nullptr) {
      reader.refuse(entry.mark, "the key is already in line " + std::to_string(given[index]->mark.line),
                    "remove one of the two");
      continue;
    }
    given[index] = &entry;
    keys[index].value.read(reader, entry.value, object);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].need == Need::optional || given[i] != nullptr) continue;
    reader.refuse(node.mark, "the key `" + std::string(names[i]) + "` is missing",
                  std::string("add `") + std::string(names[i]) + ": ...` (" + keys[i].value.type() + ")");
  }
}

template <class Format>
void read_scalar(Reader& reader, const Node& node, auto& target) {
  if (node.kind != Node::Kind::scalar) {
    reader.refuse(node.mark, "expected " + Format::type() + ", found " + node.description(),
                  "write it behind the colon");
    return;
  }
  auto parsed = Format::parse(node.text, reader.surroundings());
  if (parsed) {
    target = std::move(*parsed);
    return;
  }
  reader.refuse(node.mark, parsed.error().reason + ", found " + node.description(), parsed.error().remedy);
}

template <class Member>
struct MemberParts;
template <class Class, class Type>
struct MemberParts<Type Class::*> {
  using Object = Class;
  using Target = Type;
};
template <auto member>
using ObjectOf = typename MemberParts<decltype(member)>::Object;

// A single value in the given format.
template <class Format, auto member>
constexpr Value<ObjectOf<member>> scalar = {
    Format::type,
    [](Reader& reader, const Node& node, ObjectOf<member>& object) {
      read_scalar<Format>(reader, node, object.*member);
    },
    [](const ObjectOf<member>& object) { return Format::show(object.*member); },
};

// A mapping with a struct of its own.
template <auto member, const auto& keys>
constexpr Value<ObjectOf<member>> section = {
    [] { return std::string("mapping"); },
    [](Reader& reader, const Node& node, ObjectOf<member>& object) {
      read_mapping(reader, node, Keys<typename MemberParts<decltype(member)>::Target>(keys), object.*member);
    },
    [](const ObjectOf<member>&) { return std::string(); },
};

// As above, for a struct that exists only if its key does.
template <auto member, const auto& keys>
constexpr Value<ObjectOf<member>> optional_section = {
    [] { return std::string("mapping"); },
    [](Reader& reader, const Node& node, ObjectOf<member>& object) {
      auto& target = (object.*member).emplace();
      read_mapping(reader, node, Keys<std::remove_reference_t<decltype(target)>>(keys), target);
    },
    [](const ObjectOf<member>&) { return std::string(); },
};

// As above, for a struct with a member `on`: the file may say `off` instead of the mapping.
template <auto member, const auto& keys>
constexpr Value<ObjectOf<member>> switched_section = {
    [] { return std::string("`off` or mapping"); },
    [](Reader& reader, const Node& node, ObjectOf<member>& object) {
      auto& target = object.*member;
      target.on = node.kind != Node::Kind::scalar || node.text != "off";
      if (target.on) read_mapping(reader, node, Keys<std::remove_reference_t<decltype(target)>>(keys), target);
    },
    [](const ObjectOf<member>&) { return std::string(); },
};

// A mapping in the file whose members belong to the enclosing struct.
template <class Object, const auto& keys>
constexpr Value<Object> group = {
    [] { return std::string("mapping"); },
    [](Reader& reader, const Node& node, Object& object) { read_mapping(reader, node, Keys<Object>(keys), object); },
    [](const Object&) { return std::string(); },
};

// A value of the inner struct as a value of the enclosing struct.
template <auto outer, const auto& value>
constexpr Value<ObjectOf<outer>> within = {
    value.type,
    [](Reader& reader, const Node& node, ObjectOf<outer>& object) { value.read(reader, node, object.*outer); },
    [](const ObjectOf<outer>& object) { return value.show(object.*outer); },
};

// A value of a part that the first of its keys creates.
template <auto outer, const auto& value>
constexpr Value<ObjectOf<outer>> boxed = {
    value.type,
    [](Reader& reader, const Node& node, ObjectOf<outer>& object) { value.read(reader, node, (object.*outer).make()); },
    [](const ObjectOf<outer>& object) {
      auto part = object.*outer;
      return value.show(part.make());
    },
};

inline bool expect_list(Reader& reader, const Node& node) {
  return reader.expect(node, Node::Kind::list, "a list", "begin each element with `- `");
}

// An empty list of conditions or networks is an error: it could mean "none" or "all".
inline bool expect_elements(Reader& reader, const Node& node, std::size_t count) {
  if (count > 0) return true;
  reader.refuse(node.mark, "the list is empty", "add an element, or leave the key out");
  return false;
}

// A list of single values. Elements in the file replace the default list.
template <class Format, auto member>
constexpr Value<ObjectOf<member>> values = {
    [] { return "list of " + Format::type(); },
    [](Reader& reader, const Node& node, ObjectOf<member>& object) {
      if (!expect_list(reader, node) || !expect_elements(reader, node, node.items.size())) return;
      auto& elements = object.*member;
      elements.clear();
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        const Reader::Inside inside(reader, "[" + std::to_string(i) + "]");
        read_scalar<Format>(reader, node.items[i], elements.emplace_back());
      }
    },
    [](const ObjectOf<member>& object) {
      std::string text;
      for (const auto& element : object.*member) text += (text.empty() ? "[" : ", ") + Format::show(element);
      return text.empty() ? text : text + "]";
    },
};

// A mapping whose keys are names that the user chooses; `read_one` reads the value of each.
template <auto member, auto read_one>
constexpr Value<ObjectOf<member>> by_name = {
    [] { return std::string("mapping of names"); },
    [](Reader& reader, const Node& node, ObjectOf<member>& object) {
      if (!reader.expect(node, Node::Kind::mapping, "a mapping", "write `name: value` lines")) return;
      if (!expect_elements(reader, node, node.entries.size())) return;
      for (const Entry& entry : node.entries) {
        const Reader::Inside inside(reader, "." + entry.key);
        auto& element = (object.*member).emplace_back();
        element.name = entry.key;
        read_one(reader, entry.value, element);
      }
    },
    [](const ObjectOf<member>&) { return std::string(); },
};

// A mapping that holds exactly one of the keys.
template <class Object>
void read_one_of(Reader& reader, const Node& node, Keys<Object> keys, Object& object) {
  if (node.kind == Node::Kind::mapping && node.entries.size() != 1) {
    std::string names;
    for (const Key<Object>& key : keys) names += (names.empty() ? "`" : ", `") + std::string(key.name) + "`";
    reader.refuse(node.mark, "expected one key", "give one of " + names);
    return;
  }
  read_mapping(reader, node, keys, object);
}

template <auto member, const auto& keys>
constexpr Value<ObjectOf<member>> list = {
    [] { return std::string("list"); },
    [](Reader& reader, const Node& node, ObjectOf<member>& object) {
      if (!expect_list(reader, node)) return;
      (object.*member).reserve(node.items.size());
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        const Reader::Inside inside(reader, "[" + std::to_string(i) + "]");
        auto& element = (object.*member).emplace_back();
        using Element = std::remove_reference_t<decltype(element)>;
        read_mapping(reader, node.items[i], Keys<Element>(keys), element);
      }
    },
    [](const ObjectOf<member>&) { return std::string(); },
};

}  // namespace ebb::config
