// A seccomp filter as a list of allowed calls; all other system calls fail with EPERM.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

namespace ebb::reap {

struct SyscallRule {
  enum class Only : std::uint8_t {
    always,
    equal,    // if the argument is `value`
    without,  // if the argument has no bit of `value`
  };
  long number = 0;
  Only only = Only::always;
  std::uint8_t argument = 0;  // only its low 32 bits count
  std::uint32_t value = 0;
};

std::vector<sock_filter> syscall_filter(std::span<const SyscallRule> rules);

// For all present and future threads of this process; permanent.
std::expected<void, std::string> install_syscall_filter(std::span<const SyscallRule> rules);

}  // namespace ebb::reap
