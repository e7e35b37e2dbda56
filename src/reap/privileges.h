// What the agent keeps of root once it runs: four capabilities, no way to new ones, and the calls of the kernel that it
// makes. docs/privileges.md says what needs what.
#pragma once

#include <linux/capability.h>

#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "reap/syscall_filter.h"

namespace ebb::reap {

// Bits by the numbers of linux/capability.h.
using CapabilitySet = std::uint64_t;
constexpr CapabilitySet one_capability(unsigned number) { return CapabilitySet{1} << number; }

// For setns, for connection tracking and SOCK_DESTROY, for pidfd_getfd and /proc/PID/fd of other users.
inline constexpr CapabilitySet working_capabilities = one_capability(CAP_SYS_ADMIN) | one_capability(CAP_NET_ADMIN) |
                                                      one_capability(CAP_SYS_PTRACE) |
                                                      one_capability(CAP_DAC_READ_SEARCH);

std::span<const SyscallRule> working_syscalls();

// Keeps of this thread's capabilities only those in `kept`. Threads that it starts later have no more than it has;
// those that run already are not touched, so it is for a process that has one.
std::expected<void, std::string> keep_capabilities(CapabilitySet kept);

// All of it, for good.
std::expected<void, std::string> shed_privileges();

}  // namespace ebb::reap
