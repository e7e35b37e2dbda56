// The open descriptors of this process, from the kernel. For a separate thread, never for a worker: the time grows with
// the number of descriptors.
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
  bool file = false;  // a regular file or a folder
};

using OpenDescriptors = std::vector<OpenDescriptor, base::PageAllocator<OpenDescriptor>>;

// Sorted. Empty: not available from the kernel.
OpenDescriptors open_descriptors();

// Details of one descriptor, for display.
struct DescriptorFacts {
  std::string object;  // "socket:[4711]", "anon_inode:[eventpoll]"; "": not open
  base::Address local, remote;
  std::string_view tcp_state;  // "": not TCP
};
DescriptorFacts describe_descriptor(int number);

}  // namespace ebb::observe
