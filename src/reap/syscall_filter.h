// A seccomp filter as a list of what is allowed: all other calls of the kernel fail with EPERM.
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
    without,  // if the argument has none of the bits of `value`
  };
  long number = 0;
  Only only = Only::always;
  std::uint8_t argument = 0;  // its low 32 bits are looked at
  std::uint32_t value = 0;
};

std::vector<sock_filter> syscall_filter(std::span<const SyscallRule> rules);

// For this thread, all others of the process and those to come; for good.
std::expected<void, std::string> install_syscall_filter(std::span<const SyscallRule> rules);

}  // namespace ebb::reap
