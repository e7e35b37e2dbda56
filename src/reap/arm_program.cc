#include "reap/arm_program.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>

#include "base/assert.h"
#include "census/twins.h"

namespace ebb::reap {
namespace {

using enum Register;
using Label = BpfAssembler::Label;

constexpr Register context = r6;    // helpers leave r6 to r9 alone
constexpr Register own_times = r7;  // 1: the program has its own keepalive times
constexpr Register changed = r8;    // 1: an option was set
constexpr std::int16_t value_at = -4;
constexpr std::int32_t value_bytes = 4;

struct Option {
  std::int32_t level;
  std::int32_t name;
};
constexpr Option keepalive{SOL_SOCKET, SO_KEEPALIVE};
constexpr Option keepalive_idle{IPPROTO_TCP, TCP_KEEPIDLE};
constexpr Option keepalive_interval{IPPROTO_TCP, TCP_KEEPINTVL};
constexpr Option keepalive_probes{IPPROTO_TCP, TCP_KEEPCNT};
constexpr Option user_timeout{IPPROTO_TCP, TCP_USER_TIMEOUT};
constexpr Option rto_max{IPPROTO_TCP, census::tcp_rto_max_ms};

constexpr std::int32_t signed_of(std::uint32_t value) { return static_cast<std::int32_t>(value); }
std::int32_t as_sent(std::uint32_t value) { return signed_of(htonl(value)); }

// Offsets in the kernel's context (struct bpf_sock_ops).
constexpr std::int16_t op_at = offsetof(bpf_sock_ops, op);
constexpr std::int16_t family_at = offsetof(bpf_sock_ops, family);
constexpr std::int16_t remote_ip4_at = offsetof(bpf_sock_ops, remote_ip4);
constexpr std::int16_t remote_ip6_at = offsetof(bpf_sock_ops, remote_ip6);
constexpr std::int16_t remote_port_at = offsetof(bpf_sock_ops, remote_port);
constexpr std::int16_t calls_at = offsetof(bpf_sock_ops, bpf_sock_ops_cb_flags);

class ArmProgram {
 public:
  ArmProgram(const ArmLimits& limits, int map) : limits_(limits), map_(map) {}

  std::vector<bpf_insn> write(std::span<const std::uint16_t> ports) {
    const Label connecting = code_.label();
    const Label timed_out = code_.label();
    const Label alive = code_.label();
    code_.move(context, r1);
    code_.load(r1, context, op_at);
    code_.jump_if_equal(r1, BPF_SOCK_OPS_TCP_CONNECT_CB, connecting);
    code_.jump_if_equal(r1, BPF_SOCK_OPS_RTO_CB, timed_out);
    code_.jump_if_equal(r1, BPF_SOCK_OPS_RTT_CB, alive);
    code_.jump(end_);

    code_.place(connecting);
    leave_loopback();
    leave_other_ports(ports);
    arm();
    code_.place(timed_out);
    limit_stall();
    code_.place(alive);
    lift_limit();

    code_.place(end_);
    code_.move(r0, 1);
    code_.exit();
    return code_.finish();
  }

 private:
  void leave_loopback() {
    const Label version6 = code_.label();
    const Label mapped = code_.label();
    const Label elsewhere = code_.label();
    code_.load(r1, context, family_at);
    code_.jump_if_equal(r1, AF_INET6, version6);
    code_.load(r1, context, remote_ip4_at);
    leave_if_127(elsewhere);

    code_.place(version6);
    for (const std::int16_t word : {0, 4}) {
      code_.load(r1, context, remote_ip6_at + word);
      code_.jump_unless_equal(r1, 0, elsewhere);
    }
    code_.load(r2, context, remote_ip6_at + 8);
    code_.load(r1, context, remote_ip6_at + 12);
    code_.jump_if_equal(r2, as_sent(0xffff), mapped);
    code_.jump_unless_equal(r2, 0, elsewhere);
    code_.jump_if_equal(r1, as_sent(1), end_);
    code_.jump(elsewhere);
    code_.place(mapped);
    leave_if_127(elsewhere);
    code_.place(elsewhere);
  }

  // Tests the IPv4 address in r1.
  void leave_if_127(Label elsewhere) {
    code_.and_with(r1, as_sent(0xff000000));
    code_.jump_if_equal(r1, as_sent(0x7f000000), end_);
    code_.jump(elsewhere);
  }

  void leave_other_ports(std::span<const std::uint16_t> ports) {
    if (ports.empty()) return;
    const Label wanted = code_.label();
    code_.load(r1, context, remote_port_at);  // 32 bits in network byte order
    for (const std::uint16_t port : ports) code_.jump_if_equal(r1, as_sent(port), wanted);
    code_.jump(end_);
    code_.place(wanted);
  }

  void arm() {
    code_.move(own_times, 0);
    code_.move(changed, 0);
    look_for_own(keepalive_idle, default_keepalive_idle_s);
    look_for_own(keepalive_interval, default_keepalive_interval_s);
    look_for_own(keepalive_probes, default_keepalive_probes);

    const Label timeout_next = code_.label();
    code_.jump_if_equal(own_times, 1, timeout_next);
    set(keepalive_idle, limits_.keepalive_idle_s);
    set(keepalive_interval, limits_.keepalive_interval_s);
    set(keepalive_probes, limits_.keepalive_probes);
    set(keepalive, 1);
    code_.move(changed, 1);

    code_.place(timeout_next);
    const Label rto_next = code_.label();
    const Label in_stalls = code_.label();
    go_unless(user_timeout, 0, rto_next);
    code_.move(changed, 1);
    code_.jump_if_equal(own_times, 1, in_stalls);
    set(user_timeout, limits_.user_timeout_ms);
    code_.jump(rto_next);
    code_.place(in_stalls);
    ask_for(BPF_SOCK_OPS_RTO_CB_FLAG);

    code_.place(rto_next);
    const Label counted = code_.label();
    go_unless(rto_max, default_rto_max_ms, counted);
    set(rto_max, limits_.rto_max_ms);
    code_.move(changed, 1);

    code_.place(counted);
    const Label left_alone = code_.label();
    code_.jump_if_equal(changed, 0, left_alone);
    count(ArmCounter::armed);
    code_.jump(end_);
    code_.place(left_alone);
    count(ArmCounter::left_alone);
    code_.jump(end_);
  }

  void limit_stall() {
    go_unless(user_timeout, 0, end_);
    set(user_timeout, stall_timeout_ms(limits_));
    ask_for(BPF_SOCK_OPS_RTT_CB_FLAG);
    count(ArmCounter::stalls_limited);
    code_.jump(end_);
  }

  void lift_limit() {
    go_unless(user_timeout, stall_timeout_ms(limits_), end_);
    set(user_timeout, 0);
    code_.load(r2, context, calls_at);
    code_.and_with(r2, ~BPF_SOCK_OPS_RTT_CB_FLAG);
    set_calls();
  }

  void look_for_own(Option option, std::uint32_t default_value) {
    const Label own = code_.label();
    const Label next = code_.label();
    go_unless(option, default_value, own);
    code_.jump(next);
    code_.place(own);
    code_.move(own_times, 1);
    code_.place(next);
  }

  // Jumps to `other` if the option has another value, or if the kernel does not support it.
  void go_unless(Option option, std::uint32_t value, Label other) {
    code_.store(frame, value_at, 0);
    call_with(option, BPF_FUNC_getsockopt);
    code_.jump_unless_equal(r0, 0, other);
    code_.load(r1, frame, value_at);
    code_.jump_unless_equal(r1, signed_of(value), other);
  }

  void set(Option option, std::uint32_t value) {
    code_.store(frame, value_at, signed_of(value));
    call_with(option, BPF_FUNC_setsockopt);
  }

  void call_with(Option option, std::int32_t helper) {
    code_.move(r1, context);
    code_.move(r2, option.level);
    code_.move(r3, option.name);
    code_.move(r4, frame);
    code_.add(r4, value_at);
    code_.move(r5, value_bytes);
    code_.call(helper);
  }

  // Keeps the calls that other programs requested for this socket.
  void ask_for(std::int32_t call) {
    code_.load(r2, context, calls_at);
    code_.or_with(r2, call);
    set_calls();
  }

  void set_calls() {
    code_.move(r1, context);
    code_.call(BPF_FUNC_sock_ops_cb_flags_set);
  }

  void count(ArmCounter counter) {
    code_.map_value(r1, map_, static_cast<std::uint32_t>(counter) * sizeof(std::uint64_t));
    code_.move(r2, 1);
    code_.add_atomically(r1, r2);
  }

  const ArmLimits& limits_;
  const int map_;
  BpfAssembler code_;
  const Label end_ = code_.label();
};

}  // namespace

std::vector<bpf_insn> arm_program(const ArmLimits& limits, std::span<const std::uint16_t> ports, int map) {
  EBB_ASSERT(ports.size() <= armed_ports_max);
  return ArmProgram(limits, map).write(ports);
}

}  // namespace ebb::reap
