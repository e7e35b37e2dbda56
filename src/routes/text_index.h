// Maps texts to small values: one array with open addressing, all texts side by side in one string. A look-up among a
// hundred thousand touches two cache lines; a map of nodes with strings touches five.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"

namespace ebb::routes {

// `scope` is part of the key: a number that separates the paths of one host from another's.
template <class Value>
class TextIndex {
 public:
  void reserve(std::size_t count) {
    if (count * 2 > slots_.size()) grow(std::bit_ceil(count * 2));
  }

  struct Added {
    Value& value;  // valid until the next add
    bool fresh;
  };
  // Returns the existing value, or adds this one.
  Added add(std::uint32_t scope, std::string_view text, Value value) {
    if ((count_ + 1) * 2 > slots_.size()) grow(std::max<std::size_t>(slots_.size() * 2, 8));
    EBB_ASSERT(texts_.size() + text.size() < free);
    const std::uint32_t hash = hash_of(scope, text);
    Slot& slot = slots_[place_of(hash, scope, text)];
    if (slot.begin != free) return {slot.value, false};
    slot = {hash, scope, static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(text.size()), value};
    texts_ += text;
    count_ += 1;
    return {slot.value, true};
  }

  const Value* find(std::uint32_t scope, std::string_view text) const {
    if (count_ == 0) return nullptr;
    const Slot& slot = slots_[place_of(hash_of(scope, text), scope, text)];
    return slot.begin == free ? nullptr : &slot.value;
  }

  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::uint32_t free = UINT32_MAX;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t scope = 0;
    std::uint32_t begin = free;  // in texts_
    std::uint32_t length = 0;
    Value value{};
  };

  static std::uint32_t hash_of(std::uint32_t scope, std::string_view text) {
    const std::uint64_t mixed = (std::hash<std::string_view>{}(text) ^ scope) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint32_t>(mixed >> 32);
  }

  // The slot of the key, or the free slot for it. At least half of the slots are free.
  std::size_t place_of(std::uint32_t hash, std::uint32_t scope, std::string_view text) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t place = hash & mask;; place = (place + 1) & mask) {
      const Slot& slot = slots_[place];
      if (slot.begin == free) return place;
      if (slot.hash == hash && slot.scope == scope && slot.length == text.size() &&
          std::string_view(texts_).substr(slot.begin, slot.length) == text) {
        return place;
      }
    }
  }

  void grow(std::size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (Slot& slot : old) {
      if (slot.begin == free) continue;
      std::size_t place = slot.hash & mask;
      while (slots_[place].begin != free) place = (place + 1) & mask;
      slots_[place] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two
  std::string texts_;
  std::size_t count_ = 0;
};

}  // namespace ebb::routes
