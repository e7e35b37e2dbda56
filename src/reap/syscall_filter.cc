#include "reap/syscall_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace ebb::reap {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
#error "the numbers of system calls of this architecture are not known here"
#endif
static_assert(std::endian::native == std::endian::little, "the low half of an argument comes first");

constexpr std::uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;

constexpr sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
constexpr sock_filter answer(std::uint32_t with) { return BPF_STMT(BPF_RET | BPF_K, with); }
// Skips `instructions` if the accumulator is not `value`.
constexpr sock_filter skip_unless(std::uint32_t value, std::uint8_t instructions) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, instructions);
}
constexpr sock_filter skip_if_any(std::uint32_t bits, std::uint8_t instructions) {
  return BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, instructions, 0);
}

}  // namespace

std::vector<sock_filter> syscall_filter(std::span<const SyscallRule> rules) {
  using Only = SyscallRule::Only;
  std::vector<sock_filter> filter = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),  // other architectures number their calls differently
      answer(SECCOMP_RET_KILL_PROCESS),
      load(offsetof(seccomp_data, nr)),
  };
  for (const SyscallRule& rule : rules) {
    const auto number = static_cast<std::uint32_t>(rule.number);
    if (rule.only == Only::always) {
      filter.insert(filter.end(), {skip_unless(number, 1), answer(SECCOMP_RET_ALLOW)});
      continue;
    }
    filter.insert(filter.end(), {
                                    skip_unless(number, 4),
                                    load(offsetof(seccomp_data, args) + rule.argument * sizeof(std::uint64_t)),
                                    rule.only == Only::equal ? skip_unless(rule.value, 1) : skip_if_any(rule.value, 1),
                                    answer(SECCOMP_RET_ALLOW),
                                    answer(refuse),
                                });
  }
  filter.push_back(answer(refuse));
  return filter;
}

std::expected<void, std::string> install_syscall_filter(std::span<const SyscallRule> rules) {
  std::vector<sock_filter> filter = syscall_filter(rules);
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return std::unexpected(std::string("seccomp: ") + std::strerror(errno));
  }
  return {};
}

}  // namespace ebb::reap
