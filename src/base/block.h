// Bytes in transit. A Block is pooled memory with a reference count (one thread only). A Slice is a counted view into a
// Block, a Chain a queue of Slices. Received bytes travel from the reactor to the other side's socket as Slices,
// without a copy. An idle connection holds no blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace ebb::base {

class BlockPool;

class Block {
 public:
  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  std::uint32_t capacity() const { return capacity_; }
  bool shared() const { return references_ > 1; }
  BlockPool& pool() const { return *pool_; }

 private:
  friend class BlockPool;
  friend class Slice;
  Block(BlockPool& pool, std::uint32_t capacity) : pool_(&pool), capacity_(capacity) {}

  BlockPool* pool_;
  Block* next_free_ = nullptr;
  std::uint32_t references_ = 0;
  std::uint32_t capacity_;
};

class Slice {
 public:
  Slice() = default;
  // Views `length` bytes of the block from `offset`, and takes a reference.
  Slice(Block& block, std::uint32_t offset, std::uint32_t length) : block_(&block), offset_(offset), length_(length) {
    block_->references_ += 1;
  }
  Slice(const Slice& other) : block_(other.block_), offset_(other.offset_), length_(other.length_) {
    if (block_ != nullptr) block_->references_ += 1;
  }
  Slice(Slice&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        offset_(other.offset_),
        length_(std::exchange(other.length_, 0)) {}
  Slice& operator=(Slice other) noexcept {
    std::swap(block_, other.block_);
    std::swap(offset_, other.offset_);
    std::swap(length_, other.length_);
    return *this;
  }
  ~Slice() { release(); }

  const char* data() const { return block_ == nullptr ? nullptr : block_->data() + offset_; }
  char* mutable_data() { return block_->data() + offset_; }
  std::uint32_t size() const { return length_; }
  bool empty() const { return length_ == 0; }
  std::string_view view() const { return {data(), length_}; }
  Block* block() const { return block_; }
  std::uint32_t offset() const { return offset_; }
  // Free bytes of the block behind this slice.
  std::uint32_t room() const { return block_ == nullptr ? 0 : block_->capacity() - offset_ - length_; }

  void drop_front(std::uint32_t count) {
    EBB_ASSERT(count <= length_);
    offset_ += count;
    length_ -= count;
  }
  // The part [from, from + count) as a separate slice.
  Slice part(std::uint32_t from, std::uint32_t count) const {
    EBB_ASSERT(from + count <= length_);
    return Slice(*block_, offset_ + from, count);
  }
  // Appends in place. The caller has checked the room and that no other slice ends behind this one.
  void append(std::string_view bytes) {
    if (bytes.empty()) return;  // its data() may be null, which memcpy does not allow
    EBB_ASSERT(bytes.size() <= room());
    std::memcpy(block_->data() + offset_ + length_, bytes.data(), bytes.size());
    length_ += static_cast<std::uint32_t>(bytes.size());
  }
  void extend(std::uint32_t count) {
    EBB_ASSERT(count <= room());
    length_ += count;
  }

 private:
  inline void release();

  Block* block_ = nullptr;
  std::uint32_t offset_ = 0;
  std::uint32_t length_ = 0;
};

// Two sizes: small for heads, large for bodies (a full TLS record with its overhead fits). Larger blocks come from the
// heap. Free blocks beyond `keep_bytes` go back to the heap.
//
// The budget has three marks. Up to three quarters, each client may hold an eighth of the remaining bytes (share()):
// more stalled clients get less each, and new clients always get some. Above seven eighths (crowded()), the worker ends
// the clients that hold the most. Above the whole (over_budget()), the worker stops receiving.
class BlockPool {
 public:
  static constexpr std::uint32_t small_size = 2048 - sizeof(Block);
  static constexpr std::uint32_t large_size = 16384 + 512 - sizeof(Block);
  // Most bytes that a bulk receive puts into a large block: exactly one full TLS record.
  static constexpr std::uint32_t body_size = 16384;

  static constexpr std::size_t budget_default = std::size_t{128} << 20;

  explicit BlockPool(std::size_t budget_bytes = budget_default, std::size_t keep_bytes = std::size_t{8} << 20)
      : budget_bytes_(budget_bytes), keep_bytes_(keep_bytes) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  // An empty slice at the front of a block with room for at least `bytes`.
  Slice take(std::uint32_t bytes);
  // A block of large_size, or nullptr if the budget is used up: the caller then pauses receiving.
  Block* try_take_large();
  // Copies the bytes into a block of fitting size.
  Slice copy(std::string_view bytes);

  std::size_t bytes_in_use() const { return bytes_in_use_; }
  std::size_t bytes_kept() const { return bytes_kept_; }
  bool over_budget() const { return bytes_in_use_ > budget_bytes_; }
  bool crowded() const { return bytes_in_use_ > budget_bytes_ / 8 * 7; }
  std::size_t share() const {
    const std::size_t shared = budget_bytes_ / 4 * 3;
    return bytes_in_use_ < shared ? (shared - bytes_in_use_) / 8 : 0;
  }
  std::size_t budget() const { return budget_bytes_; }
  void set_budget(std::size_t bytes) { budget_bytes_ = bytes; }
  // Memory outside the pool that counts against the budget; see Charge.
  void charge(std::size_t more, std::size_t less) { bytes_in_use_ = bytes_in_use_ + more - less; }
  void give_back(Block* block);  // called by Slice, and for a Block that never had a Slice

 private:
  Block* make(std::uint32_t capacity);
  Block** list_for(std::uint32_t capacity);

  Block* small_ = nullptr;
  Block* large_ = nullptr;
  std::size_t budget_bytes_;
  std::size_t keep_bytes_;
  std::size_t bytes_in_use_ = 0;
  std::size_t bytes_kept_ = 0;
};

// Charges memory outside the pool to the budget for as long as this object lives.
class Charge {
 public:
  explicit Charge(BlockPool& pool) : pool_(pool) {}
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge() { set(0); }
  std::size_t bytes() const { return bytes_; }
  void set(std::size_t bytes) { pool_.charge(bytes, std::exchange(bytes_, bytes)); }

 private:
  BlockPool& pool_;
  std::size_t bytes_ = 0;
};

inline void Slice::release() {
  if (block_ == nullptr) return;
  EBB_ASSERT(block_->references_ > 0);
  if (--block_->references_ == 0) block_->pool_->give_back(block_);
  block_ = nullptr;
}

// A FIFO of slices. Two slots are inline: a head and a body are the usual content.
class Chain {
 public:
  Chain() = default;
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  Chain(Chain&& other) noexcept { swap(other); }
  Chain& operator=(Chain&& other) noexcept {
    if (this != &other) {
      clear();
      swap(other);
    }
    return *this;
  }
  ~Chain() { clear(); }

  std::size_t bytes() const { return bytes_; }
  // Memory that this chain keeps alive: whole blocks, even if partly used, and the array of slices. A block shared by
  // several chains counts in each.
  std::size_t held() const { return held_ + array_bytes(); }
  std::size_t array_bytes() const { return heap_ == nullptr ? 0 : capacity_ * sizeof(Slice); }
  bool empty() const { return bytes_ == 0; }
  std::uint32_t slices() const { return count_; }
  const Slice& operator[](std::uint32_t index) const { return at(index); }
  Slice& front() { return at(0); }
  Slice& back() { return at(count_ - 1); }

  void push(Slice slice);
  void push(Chain&& other);
  // As push(), for slices that may wait long. Small slices, and slices of mostly empty blocks, are copied behind the
  // last slice or into a small block. Otherwise a peer that sends byte by byte would hold a block and a slice for each
  // byte.
  void join(Slice slice);
  void join(Chain&& other);
  // Copies small pieces behind the last slice if they fit, which prevents chains of tiny slices.
  void append(BlockPool& pool, std::string_view bytes);
  void drop_front(std::size_t count);
  Slice pop_front();
  // Moves the first `count` bytes to a new chain.
  Chain split_front(std::size_t count);
  void clear();

 private:
  static constexpr std::uint32_t inline_slices = 2;
  Slice& at(std::uint32_t index) { return storage()[first_ + index]; }
  const Slice& at(std::uint32_t index) const { return const_cast<Chain*>(this)->at(index); }
  Slice* storage() { return heap_ != nullptr ? heap_ : inline_; }
  void make_room();
  bool takes_copy(const Slice& slice) const;
  Slice take_front();
  void swap(Chain& other) noexcept;

  Slice inline_[inline_slices];
  Slice* heap_ = nullptr;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t capacity_ = inline_slices;
  std::size_t bytes_ = 0;
  std::size_t held_ = 0;
};

}  // namespace ebb::base
