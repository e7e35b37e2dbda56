#include "reactor/uring_buffers.h"

#include <sys/mman.h>

#include <cerrno>

namespace ebb::reactor {

namespace {

constexpr std::size_t ring_bytes(std::uint32_t entries) { return entries * sizeof(io_uring_buf); }

}  // namespace

UringBuffers::~UringBuffers() {
  if (ring_ != nullptr) ::munmap(ring_, ring_bytes(entries));
}

int UringBuffers::attach(io_uring& ring) {
  void* memory = ::mmap(nullptr, ring_bytes(entries), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -ENOMEM;
  ring_ = static_cast<io_uring_buf_ring*>(memory);
  io_uring_buf_reg registration = {};
  registration.ring_addr = reinterpret_cast<std::uint64_t>(memory);
  registration.ring_entries = entries;
  registration.bgid = group;
  const int result = io_uring_register_buf_ring(&ring, &registration, 0);
  if (result != 0) return result;
  io_uring_buf_ring_init(ring_);
  empty_.reserve(entries);
  for (std::uint16_t id = 0; id < entries; ++id) empty_.push_back(id);
  refill();
  return 0;
}

base::Slice UringBuffers::take(std::uint16_t id, std::uint32_t bytes) {
  base::Slice slice = std::move(provided_[id]);
  slice.extend(bytes);
  empty_.push_back(id);
  return slice;
}

bool UringBuffers::refill() {
  int added = 0;
  while (!empty_.empty()) {
    base::Block* block = pool_.try_take_large();
    if (block == nullptr) break;
    const std::uint16_t id = empty_.back();
    empty_.pop_back();
    provided_[id] = base::Slice(*block, 0, 0);
    io_uring_buf_ring_add(ring_, block->data(), block->capacity(), id, io_uring_buf_ring_mask(entries), added);
    added += 1;
  }
  if (added > 0) io_uring_buf_ring_advance(ring_, added);
  return !none_left();
}

}  // namespace ebb::reactor
