#include "base/block.h"

#include <algorithm>
#include <new>

namespace ebb::base {

namespace {

// Copying this many bytes is cheaper than one more element of a gathered write.
constexpr std::uint32_t small_bytes = 2048;

std::size_t size_of(const Block& block) { return sizeof(Block) + block.capacity(); }

// A small slice of a large shared block, as when a block is read frame by frame. No bytes can be copied behind it.
bool is_crumb(const Slice& slice) {
  const Block& block = *slice.block();
  return slice.size() <= BlockPool::small_size && block.capacity() > BlockPool::small_size && block.shared();
}

}  // namespace

BlockPool::~BlockPool() {
  EBB_ASSERT(bytes_in_use_ == 0);
  for (Block* list : {small_, large_}) {
    while (list != nullptr) {
      Block* next = list->next_free_;
      ::operator delete(list);
      list = next;
    }
  }
}

Block** BlockPool::list_for(std::uint32_t capacity) {
  if (capacity == small_size) return &small_;
  if (capacity == large_size) return &large_;
  return nullptr;
}

Block* BlockPool::make(std::uint32_t capacity) {
  bytes_in_use_ += capacity;
  Block** list = list_for(capacity);
  if (list != nullptr && *list != nullptr) {
    Block* block = *list;
    *list = block->next_free_;
    bytes_kept_ -= capacity;
    return block;
  }
  void* memory = ::operator new(sizeof(Block) + capacity);
  return ::new (memory) Block(*this, capacity);
}

void BlockPool::give_back(Block* block) {
  const std::uint32_t capacity = block->capacity_;
  bytes_in_use_ -= capacity;
  Block** list = list_for(capacity);
  if (list == nullptr || bytes_kept_ + capacity > keep_bytes_) {
    ::operator delete(block);
    return;
  }
  block->next_free_ = *list;
  *list = block;
  bytes_kept_ += capacity;
}

Slice BlockPool::take(std::uint32_t bytes) {
  const std::uint32_t capacity = bytes <= small_size ? small_size : std::max(bytes, large_size);
  return Slice(*make(capacity), 0, 0);
}

Block* BlockPool::try_take_large() {
  if (over_budget()) return nullptr;
  return make(large_size);
}

Slice BlockPool::copy(std::string_view bytes) {
  Slice slice = take(static_cast<std::uint32_t>(bytes.size()));
  slice.append(bytes);
  return slice;
}

void Chain::push(Slice slice) {
  if (slice.empty()) return;
  bytes_ += slice.size();
  // Consecutive slices of the same block count it once.
  if (count_ == 0 || back().block() != slice.block()) held_ += size_of(*slice.block());
  if (first_ + count_ == capacity_) make_room();
  storage()[first_ + count_] = std::move(slice);
  count_ += 1;
}

// Writing behind the last slice is safe only if no other slice uses its block.
bool Chain::takes_copy(const Slice& slice) const {
  const Slice& last = at(count_ - 1);
  if (last.room() < slice.size() || last.block()->shared()) return false;
  return slice.size() <= small_bytes || slice.size() <= slice.block()->capacity() / 4;
}

void Chain::join(Slice slice) {
  if (slice.empty()) return;
  if (count_ > 0 && takes_copy(slice)) {
    bytes_ += slice.size();
    back().append(slice.view());
    return;
  }
  if (count_ > 0 && is_crumb(slice)) return push(slice.block()->pool().copy(slice.view()));
  push(std::move(slice));
}

void Chain::join(Chain&& other) {
  if (count_ == 0) {
    *this = std::move(other);
    return;
  }
  for (std::uint32_t i = 0; i < other.count_; ++i) join(std::move(other.at(i)));
  other.clear();
}

void Chain::push(Chain&& other) {
  if (count_ == 0) {
    *this = std::move(other);
    return;
  }
  for (std::uint32_t i = 0; i < other.count_; ++i) push(std::move(other.at(i)));
  other.clear();
}

void Chain::append(BlockPool& pool, std::string_view bytes) {
  if (bytes.empty()) return;
  // Writing behind the last slice is safe only if no other slice uses its block.
  if (count_ > 0 && !back().block()->shared() && back().room() >= bytes.size()) {
    back().append(bytes);
    bytes_ += bytes.size();
    return;
  }
  push(pool.copy(bytes));
}

void Chain::drop_front(std::size_t count) {
  EBB_ASSERT(count <= bytes_);
  bytes_ -= count;
  while (count > 0) {
    Slice& slice = at(0);
    if (count < slice.size()) {
      slice.drop_front(static_cast<std::uint32_t>(count));
      return;
    }
    count -= slice.size();
    take_front();
  }
  if (count_ == 0) clear();
}

Slice Chain::take_front() {
  Slice slice = std::move(at(0));
  if (count_ > 1 && at(1).block() != slice.block()) held_ -= size_of(*slice.block());
  first_ += 1;
  count_ -= 1;
  return slice;
}

Slice Chain::pop_front() {
  EBB_ASSERT(count_ > 0);
  Slice slice = take_front();
  bytes_ -= slice.size();
  if (count_ == 0) clear();
  return slice;
}

Chain Chain::split_front(std::size_t count) {
  EBB_ASSERT(count <= bytes_);
  Chain front_part;
  while (count > 0) {
    Slice& slice = at(0);
    if (slice.size() <= count) {
      count -= slice.size();
      front_part.push(pop_front());
      continue;
    }
    front_part.push(slice.part(0, static_cast<std::uint32_t>(count)));
    drop_front(count);
    count = 0;
  }
  return front_part;
}

void Chain::clear() {
  for (std::uint32_t i = 0; i < count_; ++i) at(i) = Slice();
  if (heap_ != nullptr) delete[] heap_;
  heap_ = nullptr;
  capacity_ = inline_slices;
  first_ = count_ = 0;
  bytes_ = held_ = 0;
}

void Chain::make_room() {
  Slice* from = storage();
  if (first_ > 0 && first_ >= count_) {  // slide down: enough consumed slots in front
    std::move(from + first_, from + first_ + count_, from);
    first_ = 0;
    return;
  }
  const std::uint32_t capacity = capacity_ * 2;
  Slice* larger = new Slice[capacity];
  std::move(from + first_, from + first_ + count_, larger);
  delete[] heap_;
  heap_ = larger;
  capacity_ = capacity;
  first_ = 0;
}

void Chain::swap(Chain& other) noexcept {
  std::swap(inline_, other.inline_);
  std::swap(heap_, other.heap_);
  std::swap(first_, other.first_);
  std::swap(count_, other.count_);
  std::swap(capacity_, other.capacity_);
  std::swap(bytes_, other.bytes_);
  std::swap(held_, other.held_);
}

}  // namespace ebb::base
