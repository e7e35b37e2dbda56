// The rights that the agent keeps: four capabilities, no way to new ones, and the system calls that it makes.
// docs/privileges.md explains each.
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

// Drops this thread's capabilities outside `kept`. Threads that it starts later inherit the result; running threads do
// not change, so call it while there is only one.
std::expected<void, std::string> keep_capabilities(CapabilitySet kept);

// Drops everything else, permanently.
std::expected<void, std::string> shed_privileges();

}  // namespace ebb::reap
