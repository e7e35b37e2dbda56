// The open descriptors of this process, as the kernel has them. For a separate thread, never for a worker: the time
// grows with the number of descriptors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/page_allocator.h"

namespace ebb::observe {

struct OpenDescriptor {
  int number = -1;
  std::uint64_t inode = 0;
  bool file = false;  // regular, or a folder
};

using OpenDescriptors = std::vector<OpenDescriptor, base::PageAllocator<OpenDescriptor>>;

// In order. Empty: the kernel does not tell.
OpenDescriptors open_descriptors();

// One of them, for people.
struct DescriptorFacts {
  std::string object;  // "socket:[4711]", "anon_inode:[eventpoll]"; "": it is not open
  base::Address local, remote;
  std::string_view tcp_state;  // "": no TCP
};
DescriptorFacts describe_descriptor(int number);

}  // namespace ebb::observe
