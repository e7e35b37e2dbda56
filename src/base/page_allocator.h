// For large short-lived objects: their memory returns to the kernel at once, where malloc would keep it. Each
// allocation is a system call for whole pages, so reserve.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "base/assert.h"

namespace ebb::base {

template <class T>
struct PageAllocator {
  using value_type = T;

  PageAllocator() = default;
  template <class Other>
  explicit PageAllocator(const PageAllocator<Other>&) {}

  T* allocate(std::size_t count) {
    void* const pages = ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EBB_ASSERT(pages != MAP_FAILED);
    return static_cast<T*>(pages);
  }
  void deallocate(T* pages, std::size_t count) { ::munmap(pages, count * sizeof(T)); }

  friend bool operator==(const PageAllocator&, const PageAllocator&) { return true; }
};

}  // namespace ebb::base
