// What a process may still do once it has shed its privileges: each question is asked in a child, which ends with the
// error that it got.
#include "reap/privileges.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <functional>
#include <thread>

namespace ebb::reap {
namespace {

constexpr int not_installed = 255;
constexpr int answered = 100;  // added to the error: a child that crashes ends with a small number too

// The errno of `question`, 0 if it succeeds. The filter is for good: hence a child.
int in_child(const std::function<long()>& question) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!shed_privileges()) ::_exit(not_installed);
    errno = 0;
    ::_exit(answered + (question() < 0 ? errno : 0));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WEXITSTATUS(status) - answered;
}

TEST(Privileges, WhatTheWorkDoesNotNeedIsRefused) {
  char* const arguments[] = {nullptr};
  EXPECT_EQ(in_child([&] { return ::execve("/bin/true", arguments, arguments); }), EPERM);
  EXPECT_EQ(in_child([] { return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr); }), EPERM);
  EXPECT_EQ(in_child([] { return ::syscall(SYS_kill, ::getppid(), 0); }), EPERM);
  EXPECT_EQ(in_child([] { return ::syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, nullptr); }), EPERM);
  EXPECT_EQ(in_child([] { return ::syscall(SYS_unshare, CLONE_NEWNS); }), EPERM);
  EXPECT_EQ(in_child([] { return ::syscall(SYS_unlinkat, AT_FDCWD, "/nowhere", 0); }), EPERM);
  EXPECT_EQ(in_child([] { return ::syscall(SYS_process_vm_writev, ::getppid(), nullptr, 0, nullptr, 0, 0); }), EPERM);
}

TEST(Privileges, ArgumentsAreLookedAtWhereACallCanDoMoreThanTheWork) {
  EXPECT_EQ(in_child([] { return ::setns(-1, CLONE_NEWNET); }), EBADF);
  EXPECT_EQ(in_child([] { return ::setns(-1, CLONE_NEWNS); }), EPERM);
  EXPECT_EQ(in_child([] { return ::setns(-1, 0); }), EPERM) << "0: whatever it is a descriptor of";
  bpf_attr attributes{};
  EXPECT_EQ(in_child([&] { return ::syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes)); }), EPERM);
  const auto map_memory = [](int protection) {
    return [protection] {
      return ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
    };
  };
  EXPECT_EQ(in_child(map_memory(PROT_READ | PROT_WRITE)), 0);
  EXPECT_EQ(in_child(map_memory(PROT_READ | PROT_EXEC)), EPERM);
}

TEST(Privileges, ThreadsCanBeStartedAndAreBoundAsWell) {
  EXPECT_EQ(in_child([] {
              long result = 0;
              int error = 0;
              std::jthread([&] {
                result = ::syscall(SYS_unshare, CLONE_NEWNS);
                error = errno;
              }).join();
              errno = error;
              return result;
            }),
            EPERM);
}

TEST(Privileges, OnlyTheWorkingCapabilitiesAreKept) {
  EXPECT_EQ(in_child([] {
              std::ifstream status("/proc/thread-self/status");
              for (std::string line; std::getline(status, line);) {
                unsigned long long held = 0;
                if (std::sscanf(line.c_str(), "CapPrm: %llx", &held) != 1) continue;
                errno = (held & ~working_capabilities) == 0 ? 0 : E2BIG;
                return errno == 0 ? 0L : -1L;
              }
              errno = ENOENT;
              return -1L;
            }),
            0);
}

}  // namespace
}  // namespace ebb::reap
