// The kernel's facts about this process. Reads /proc: for the admin thread, never for a worker.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace ebb::observe {

struct ProcessFacts {
  double start_time_seconds = 0;  // since the epoch
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;
};

// Unreadable facts stay 0.
ProcessFacts read_process_facts();

// Of all threads, in user space and in the kernel.
base::Duration cpu_time();

}  // namespace ebb::observe
