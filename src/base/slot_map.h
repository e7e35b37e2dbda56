// Owns objects that others name by handle. A handle is {slot, generation} and finds nothing once its object is gone.
// Late timers, completions and messages are therefore harmless. Objects never move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace ebb::base {

struct Handle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0: names nothing

  constexpr explicit operator bool() const { return generation != 0; }
  friend constexpr bool operator==(Handle, Handle) = default;
};

// A typed handle: a SocketId cannot be passed where a ListenerId is meant.
template <class Tag>
struct TypedHandle : Handle {
  constexpr TypedHandle() = default;
  constexpr explicit TypedHandle(Handle handle) : Handle(handle) {}
};

template <class T>
class SlotMap {
  static constexpr std::uint32_t chunk_slots = 128;
  static constexpr std::uint32_t no_slot = UINT32_MAX;

 public:
  SlotMap() = default;
  SlotMap(const SlotMap&) = delete;
  SlotMap& operator=(const SlotMap&) = delete;
  ~SlotMap() {
    for_each([this](Handle handle, T&) { erase(handle); });
  }

  template <class... Arguments>
  Handle emplace(Arguments&&... arguments) {
    if (free_ == no_slot) grow();
    const std::uint32_t slot = free_;
    Cell& cell = cell_at(slot);
    free_ = cell.next_free;
    cell.generation += 1;  // odd: alive
    ::new (static_cast<void*>(cell.storage)) T(std::forward<Arguments>(arguments)...);
    live_ += 1;
    return {slot, cell.generation};
  }

  T* find(Handle handle) {
    if (handle.slot >= capacity()) return nullptr;
    Cell& cell = cell_at(handle.slot);
    if (cell.generation != handle.generation || (handle.generation & 1) == 0) return nullptr;
    return cell.object();
  }
  const T* find(Handle handle) const { return const_cast<SlotMap*>(this)->find(handle); }

  bool erase(Handle handle) {
    T* object = find(handle);
    if (object == nullptr) return false;
    // Invalidate the handle before the object dies: a destructor that looks itself up finds nothing. The slot becomes
    // free only after the destructor, which may insert other objects.
    Cell& cell = cell_at(handle.slot);
    cell.generation += 1;  // even: free; a handle could match again after 2^31 reuses of its slot
    live_ -= 1;
    object->~T();
    cell.next_free = free_;
    free_ = handle.slot;
    return true;
  }

  // The callback may erase the object that it gets, and no other.
  template <class Callback>
  void for_each(Callback&& callback) {
    for (std::uint32_t slot = 0; slot < capacity(); ++slot) {
      Cell& cell = cell_at(slot);
      if ((cell.generation & 1) != 0) callback(Handle{slot, cell.generation}, *cell.object());
    }
  }

  template <class Callback>
  void for_each(Callback&& callback) const {
    const_cast<SlotMap*>(this)->for_each(
        [&callback](Handle handle, T& object) { callback(handle, static_cast<const T&>(object)); });
  }

  // A walk in steps, for callers with little time. Visits `most` slots from `from` on and returns the next slot, or 0
  // at the end. The walk visits each object that lives throughout exactly once; others at most once.
  template <class Callback>
  std::uint32_t for_some(std::uint32_t from, std::uint32_t most, Callback&& callback) {
    const std::uint32_t end = capacity() - std::min(from, capacity()) > most ? from + most : capacity();
    for (std::uint32_t slot = from; slot < end; ++slot) {
      Cell& cell = cell_at(slot);
      if ((cell.generation & 1) != 0) callback(Handle{slot, cell.generation}, *cell.object());
    }
    return end < capacity() ? end : 0;
  }

  std::size_t size() const { return live_; }
  bool empty() const { return live_ == 0; }

 private:
  struct Cell {
    alignas(T) std::byte storage[sizeof(T)];
    std::uint32_t generation = 0;
    std::uint32_t next_free = no_slot;
    T* object() { return std::launder(reinterpret_cast<T*>(storage)); }
  };

  std::uint32_t capacity() const { return static_cast<std::uint32_t>(chunks_.size()) * chunk_slots; }
  Cell& cell_at(std::uint32_t slot) { return chunks_[slot / chunk_slots][slot % chunk_slots]; }

  void grow() {
    const std::uint32_t first = capacity();
    EBB_ASSERT(first < no_slot - chunk_slots);
    chunks_.push_back(std::make_unique<Cell[]>(chunk_slots));
    for (std::uint32_t i = chunk_slots; i-- > 0;) {
      cell_at(first + i).next_free = free_;
      free_ = first + i;
    }
  }

  std::vector<std::unique_ptr<Cell[]>> chunks_;
  std::uint32_t free_ = no_slot;
  std::size_t live_ = 0;
};

}  // namespace ebb::base
