// The program that the kernel runs for sockets of a control group (BPF_CGROUP_SOCK_OPS): it does at connect() what
// plan_arms() says. Three of the kernel's calls matter:
//
//   connect ── plan: keepalive, user time-out, RTO maximum ──┬── for good
//                                                            └── own keepalive times: ask to be called at time-outs
//   time-out (RTO_CB) ── no user time-out ── set it, ask to be called at the next sign of life
//   sign of life (RTT_CB) ── the user time-out is ours ── take it back
//
// Assembled here: neither a compiler nor a library for BPF is needed where it runs.
#pragma once

#include <span>
#include <vector>

#include "reap/arm_limits.h"
#include "reap/bpf_assembler.h"

namespace ebb::reap {

// Slots of the array of 64-bit numbers that the program counts in.
enum class ArmCounter : std::uint8_t { armed, left_alone, stalls_limited };
inline constexpr std::size_t arm_counters = 3;

inline constexpr std::size_t armed_ports_max = 256;

// Only connections to `ports` of the peer; none given: all. Peers on loopback never: the end of a program on the same
// machine is always told. `map` is a descriptor of the array.
std::vector<bpf_insn> arm_program(const ArmLimits& limits, std::span<const std::uint16_t> ports, int map);

}  // namespace ebb::reap
