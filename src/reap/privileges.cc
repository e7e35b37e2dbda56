#include "reap/privileges.h"

#include <linux/bpf.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ebb::reap {
namespace {

using Only = SyscallRule::Only;

constexpr SyscallRule syscalls[] = {
    // files: /proc, the policy, the list of endpoints, the log
    {SYS_read},
    {SYS_pread64},
    {SYS_readv},
    {SYS_write},
    {SYS_writev},
    {SYS_close},
    {SYS_openat},
    {SYS_fstat},
    {SYS_fstatfs},
    {SYS_newfstatat},
    {SYS_statx},
    {SYS_lseek},
    {SYS_readlinkat},
    {SYS_getdents64},
    {SYS_faccessat},
    {SYS_fcntl},
    {SYS_pipe2},  // the sanitizers of test builds use it to test memory
    {SYS_inotify_init1},
    {SYS_inotify_add_watch},
    {SYS_inotify_rm_watch},
#ifdef SYS_open  // x86 has older variants, and libraries use them
    {SYS_open},
    {SYS_stat},
    {SYS_lstat},
    {SYS_readlink},
    {SYS_access},
    {SYS_pipe},
    {SYS_poll},
    {SYS_epoll_wait},
#endif
    // sockets: netlink, probes of nodes, the listener for metrics
    {SYS_socket},
    {SYS_bind},
    {SYS_listen},
    {SYS_accept4},
    {SYS_connect},
    {SYS_shutdown},
    {SYS_getsockname},
    {SYS_getpeername},
    {SYS_getsockopt},
    {SYS_setsockopt},
    {SYS_sendto},
    {SYS_sendmsg},
    {SYS_recvfrom},
    {SYS_recvmsg},
    // waiting
    {SYS_ppoll},
    {SYS_epoll_create1},
    {SYS_epoll_ctl},
    {SYS_epoll_pwait},
    {SYS_eventfd2},
    {SYS_signalfd4},
    {SYS_timerfd_create},
    {SYS_timerfd_settime},
    {SYS_clock_gettime},
    {SYS_clock_nanosleep},
    {SYS_restart_syscall},
    // memory, but no new executable memory
    {SYS_brk},
    {SYS_mmap, Only::without, 2, PROT_EXEC},
    {SYS_mprotect, Only::without, 2, PROT_EXEC},
    {SYS_munmap},
    {SYS_mremap},
    {SYS_madvise},
    // threads and signals of this process
    {SYS_clone},
    {SYS_clone3},
    {SYS_set_robust_list},
    {SYS_rseq},
    {SYS_futex},
    {SYS_exit},
    {SYS_exit_group},
    {SYS_getpid},
    {SYS_gettid},
    {SYS_geteuid},
    {SYS_tgkill},
    {SYS_rt_sigaction},
    {SYS_rt_sigprocmask},
    {SYS_rt_sigreturn},
    {SYS_sigaltstack},
    {SYS_sched_yield},
    {SYS_sched_getaffinity},
    {SYS_prlimit64},
    {SYS_getrusage},
    {SYS_getrandom},
    // the agent's own work
    {SYS_setns, Only::equal, 1, CLONE_NEWNET},
    {SYS_pidfd_open},
    {SYS_pidfd_getfd},
    {SYS_bpf, Only::equal, 0, BPF_MAP_LOOKUP_ELEM},
};

}  // namespace

std::span<const SyscallRule> working_syscalls() { return syscalls; }

std::expected<void, std::string> keep_capabilities(CapabilitySet kept) {
  const auto refused = [](const char* call) {
    return std::unexpected(std::string(call) + ": " + std::strerror(errno));
  };
  // Needs CAP_SETPCAP. Otherwise the bounding set stays, and PR_SET_NO_NEW_PRIVS keeps it unusable.
  for (unsigned capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if ((kept & one_capability(capability)) == 0) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct halves[2] = {};
  if (::syscall(SYS_capget, &header, halves) != 0) return refused("capget");
  for (unsigned half = 0; half < 2; ++half) {
    halves[half].permitted &= static_cast<std::uint32_t>(kept >> (32 * half));
    halves[half].effective &= halves[half].permitted;
    halves[half].inheritable = 0;  // which also empties the ambient set
  }
  if (::syscall(SYS_capset, &header, halves) != 0) return refused("capset");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("PR_SET_NO_NEW_PRIVS");
  return {};
}

std::expected<void, std::string> shed_privileges() {
  if (auto kept = keep_capabilities(working_capabilities); !kept) return kept;
  return install_syscall_filter(working_syscalls());
}

}  // namespace ebb::reap

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// The leak checker runs at the end of the process. It stops threads by ptrace, which the filter refuses; turn the
// checker off then.
extern "C" int __lsan_is_turned_off() { return ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 ? 1 : 0; }
#endif
#endif
