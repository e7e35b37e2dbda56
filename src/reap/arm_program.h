// The program that the kernel runs for sockets of a control group (BPF_CGROUP_SOCK_OPS): it carries out plan_arms() at
// connect(). Three of the kernel's calls matter:
//
//   connect ── plan: keepalive, user time-out, RTO maximum ──┬── for good
//                                                            └── own keepalive times: ask to be called at time-outs
//   time-out (RTO_CB) ── no user time-out ── set it, ask to be called at the next sign of life
//   sign of life (RTT_CB) ── the user time-out is ours ── take it back
//
// Assembled here: the target needs neither a compiler nor a library for BPF.
#pragma once

#include <span>
#include <vector>

#include "reap/arm_limits.h"
#include "reap/bpf_assembler.h"

namespace ebb::reap {

// Indexes of the program's counters, an array of 64-bit numbers.
enum class ArmCounter : std::uint8_t { armed, left_alone, stalls_limited };
inline constexpr std::size_t arm_counters = 3;

inline constexpr std::size_t armed_ports_max = 256;

// Only connections to `ports` of the peer; empty: all. Never peers on loopback: the end of a program on the same
// machine is always visible. `map` is a descriptor of the array.
std::vector<bpf_insn> arm_program(const ArmLimits& limits, std::span<const std::uint16_t> ports, int map);

}  // namespace ebb::reap
