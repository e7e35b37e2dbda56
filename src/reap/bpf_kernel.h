// The calls of bpf(2) that the reaper needs. Errors are texts for messages.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "reactor/descriptor.h"

namespace ebb::reap {

// An array with one element of 64-bit numbers.
std::expected<reactor::Descriptor, std::string> make_bpf_numbers(std::size_t count);
bool read_bpf_numbers(int map, std::span<std::uint64_t> into);

// A program for sockets of control groups.
std::expected<reactor::Descriptor, std::string> load_sock_ops(std::span<const bpf_insn> program);
// The program runs beside others until the descriptor is closed, or its process ends.
std::expected<reactor::Descriptor, std::string> attach_sock_ops(int program, const std::string& cgroup_folder);

}  // namespace ebb::reap
