// The program for the kernel, run by a small interpreter on a socket of our own making: it must do what plan_arms()
// says.
#include "reap/arm_program.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <map>

#include "census/twins.h"

namespace ebb::reap {
namespace {

using Options = std::map<std::pair<int, int>, std::uint32_t>;

struct FakeSocket {
  Options options;
  bpf_sock_ops context{};
  std::array<std::uint64_t, arm_counters> counters{};

  std::uint32_t user_timeout() const { return options.at({IPPROTO_TCP, TCP_USER_TIMEOUT}); }
  bool asks_for(int call) const { return (context.bpf_sock_ops_cb_flags & call) != 0; }
  std::uint64_t counted(ArmCounter counter) const { return counters[static_cast<std::size_t>(counter)]; }
};

// Only the instructions of BpfAssembler.
class Interpreter {
 public:
  explicit Interpreter(FakeSocket& socket) : socket_(socket) {}

  std::uint64_t run(const std::vector<bpf_insn>& program) {
    registers_[1] = pointer(&socket_.context);
    registers_[10] = pointer(stack_.data() + stack_.size());
    for (std::size_t at = 0; at < program.size(); ++at) {
      const bpf_insn& one = program[at];
      std::uint64_t& to = registers_[one.dst_reg];
      const std::uint64_t from = registers_[one.src_reg];
      switch (one.code) {
        case BPF_ALU64 | BPF_MOV | BPF_X: to = from; break;
        case BPF_ALU64 | BPF_MOV | BPF_K: to = static_cast<std::uint64_t>(std::int64_t{one.imm}); break;
        case BPF_ALU64 | BPF_ADD | BPF_K: to += static_cast<std::uint64_t>(std::int64_t{one.imm}); break;
        case BPF_ALU | BPF_OR | BPF_K: to = static_cast<std::uint32_t>(to) | static_cast<std::uint32_t>(one.imm); break;
        case BPF_ALU | BPF_AND | BPF_K:
          to = static_cast<std::uint32_t>(to) & static_cast<std::uint32_t>(one.imm);
          break;
        case BPF_LDX | BPF_W | BPF_MEM: to = word(from + one.off); break;
        case BPF_ST | BPF_W | BPF_MEM: word(to + one.off) = static_cast<std::uint32_t>(one.imm); break;
        case BPF_STX | BPF_DW | BPF_ATOMIC: *reinterpret_cast<std::uint64_t*>(to + one.off) += from; break;
        case BPF_LD | BPF_DW | BPF_IMM: to = pointer(socket_.counters.data()) + program[++at].imm; break;
        case BPF_JMP | BPF_JA: at += one.off; break;
        case BPF_JMP32 | BPF_JEQ | BPF_K: at += equal(to, one.imm) ? one.off : 0; break;
        case BPF_JMP32 | BPF_JNE | BPF_K: at += equal(to, one.imm) ? 0 : one.off; break;
        case BPF_JMP | BPF_CALL: call(one.imm); break;
        case BPF_JMP | BPF_EXIT: return registers_[0];
        default: ADD_FAILURE() << "instruction " << at << " is " << int{one.code}; return 0;
      }
    }
    ADD_FAILURE() << "it runs over its end";
    return 0;
  }

 private:
  static std::uint64_t pointer(const void* what) { return reinterpret_cast<std::uintptr_t>(what); }
  static std::uint32_t& word(std::uint64_t at) { return *reinterpret_cast<std::uint32_t*>(at); }
  static bool equal(std::uint64_t left, std::int32_t right) {
    return static_cast<std::uint32_t>(left) == static_cast<std::uint32_t>(right);
  }

  void call(std::int32_t helper) {
    const auto option = std::pair(static_cast<int>(registers_[2]), static_cast<int>(registers_[3]));
    const auto found = socket_.options.find(option);
    registers_[0] = 0;
    if (helper == BPF_FUNC_sock_ops_cb_flags_set) {
      socket_.context.bpf_sock_ops_cb_flags = static_cast<std::uint32_t>(registers_[2]);
    } else if (found == socket_.options.end()) {
      registers_[0] = static_cast<std::uint64_t>(-ENOPROTOOPT);
    } else if (helper == BPF_FUNC_getsockopt) {
      word(registers_[4]) = found->second;
    } else {
      EXPECT_EQ(helper, BPF_FUNC_setsockopt);
      found->second = word(registers_[4]);
    }
    for (const int clobbered : {1, 2, 3, 4, 5}) registers_[clobbered] = 0xdeadbeefdeadbeef;
  }

  FakeSocket& socket_;
  std::array<std::uint64_t, 11> registers_{};
  alignas(8) std::array<std::byte, 512> stack_{};
};

constexpr ArmLimits limits;
constexpr int any_map = 5;

FakeSocket connecting_to(const char* host, std::uint16_t port = 443) {
  FakeSocket socket;
  socket.options = {{{SOL_SOCKET, SO_KEEPALIVE}, 0},      {{IPPROTO_TCP, TCP_KEEPIDLE}, 7200},
                    {{IPPROTO_TCP, TCP_KEEPINTVL}, 75},   {{IPPROTO_TCP, TCP_KEEPCNT}, 9},
                    {{IPPROTO_TCP, TCP_USER_TIMEOUT}, 0}, {{IPPROTO_TCP, census::tcp_rto_max_ms}, 120'000}};
  socket.context.op = BPF_SOCK_OPS_TCP_CONNECT_CB;
  socket.context.remote_port = htonl(port);
  if (inet_pton(AF_INET, host, &socket.context.remote_ip4) == 1) {
    socket.context.family = AF_INET;
  } else {
    socket.context.family = AF_INET6;
    EXPECT_EQ(inet_pton(AF_INET6, host, socket.context.remote_ip6), 1);
  }
  return socket;
}

void run(FakeSocket& socket, std::vector<std::uint16_t> ports = {}) {
  EXPECT_EQ(Interpreter(socket).run(arm_program(limits, ports, any_map)), 1U) << "another value forbids";
}

void run_as(int op, FakeSocket& socket) {
  socket.context.op = static_cast<std::uint32_t>(op);
  run(socket);
}

// What the plan would leave behind.
Options after(const ArmPlan& plan, Options options) {
  if (plan.keepalive) {
    options[{SOL_SOCKET, SO_KEEPALIVE}] = 1;
    options[{IPPROTO_TCP, TCP_KEEPIDLE}] = limits.keepalive_idle_s;
    options[{IPPROTO_TCP, TCP_KEEPINTVL}] = limits.keepalive_interval_s;
    options[{IPPROTO_TCP, TCP_KEEPCNT}] = limits.keepalive_probes;
  }
  if (plan.user_timeout) options[{IPPROTO_TCP, TCP_USER_TIMEOUT}] = limits.user_timeout_ms;
  if (plan.rto_max) options[{IPPROTO_TCP, census::tcp_rto_max_ms}] = limits.rto_max_ms;
  return options;
}

TEST(ArmProgram, DoesWhatThePlanSaysForEveryMixOfOwnChoices) {
  for (int mix = 0; mix < 128; ++mix) {
    FakeSocket socket = connecting_to("10.1.0.5");
    Options& options = socket.options;
    if (mix & 1) options[{IPPROTO_TCP, TCP_KEEPIDLE}] = 60;
    if (mix & 2) options[{IPPROTO_TCP, TCP_KEEPINTVL}] = 60;
    if (mix & 4) options[{IPPROTO_TCP, TCP_KEEPCNT}] = 3;
    if (mix & 8) options[{IPPROTO_TCP, TCP_USER_TIMEOUT}] = 30'000;
    if (mix & 16) options[{IPPROTO_TCP, census::tcp_rto_max_ms}] = 5'000;
    if (mix & 32) options[{SOL_SOCKET, SO_KEEPALIVE}] = 1;
    if (mix & 64) options.erase({IPPROTO_TCP, census::tcp_rto_max_ms});  // a kernel before 6.15
    const census::Options seen{
        .keepalive_idle_s = options[{IPPROTO_TCP, TCP_KEEPIDLE}],
        .keepalive_interval_s = options[{IPPROTO_TCP, TCP_KEEPINTVL}],
        .keepalive_probes = static_cast<std::uint8_t>(options[{IPPROTO_TCP, TCP_KEEPCNT}]),
        .user_timeout_ms = options[{IPPROTO_TCP, TCP_USER_TIMEOUT}],
        .rto_max_ms = (mix & 64) ? 0 : options[{IPPROTO_TCP, census::tcp_rto_max_ms}],
    };
    const ArmPlan plan = plan_arms(seen);
    const Options due = after(plan, options);
    run(socket);
    EXPECT_EQ(socket.options, due) << mix;
    EXPECT_EQ(socket.asks_for(BPF_SOCK_OPS_RTO_CB_FLAG), plan.user_timeout_in_stalls) << mix;
    EXPECT_EQ(socket.counted(ArmCounter::armed), plan.nothing() ? 0 : 1) << mix;
    EXPECT_EQ(socket.counted(ArmCounter::left_alone), plan.nothing() ? 1 : 0) << mix;
  }
}

TEST(ArmProgram, RunTwiceChangesNothingMore) {
  FakeSocket socket = connecting_to("10.1.0.5");
  run(socket);
  const Options once = socket.options;
  run(socket);
  EXPECT_EQ(socket.options, once);
  EXPECT_EQ(socket.counted(ArmCounter::left_alone), 1U);
}

TEST(ArmProgram, LeavesPeersOnThisMachineAlone) {
  for (const char* host : {"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"}) {
    FakeSocket socket = connecting_to(host);
    run(socket);
    EXPECT_EQ(socket.user_timeout(), 0U) << host;
    EXPECT_THAT(socket.counters, testing::Each(0)) << host;
  }
  for (const char* host : {"128.0.0.1", "10.127.0.1", "::2", "fd00::1", "::ffff:10.0.0.1", "1::1", "0:0:0:1::1"}) {
    FakeSocket socket = connecting_to(host);
    run(socket);
    EXPECT_EQ(socket.user_timeout(), limits.user_timeout_ms) << host;
  }
}

TEST(ArmProgram, ArmsOnlyThePortsThatAreNamed) {
  std::vector<std::uint16_t> ports;
  for (std::uint16_t port = 60'000; ports.size() < armed_ports_max; ++port) ports.push_back(port);
  for (const auto& [port, armed] : std::map<std::uint16_t, bool>{{60'000, true}, {60'255, true}, {60'256, false}}) {
    FakeSocket socket = connecting_to("10.1.0.5", port);
    run(socket, ports);
    EXPECT_EQ(socket.user_timeout() != 0, armed) << port;
  }
}

TEST(ArmProgram, LimitsOnlyTheStallsOfAProgramWithItsOwnKeepalive) {
  FakeSocket socket = connecting_to("10.1.0.5");
  socket.options[{IPPROTO_TCP, TCP_KEEPIDLE}] = 60;
  socket.context.bpf_sock_ops_cb_flags = BPF_SOCK_OPS_STATE_CB_FLAG;  // another program's wish
  run(socket);
  EXPECT_EQ(socket.user_timeout(), 0U);

  run_as(BPF_SOCK_OPS_RTO_CB, socket);
  EXPECT_EQ(socket.user_timeout(), stall_timeout_ms(limits));
  EXPECT_TRUE(socket.asks_for(BPF_SOCK_OPS_RTT_CB_FLAG));
  run_as(BPF_SOCK_OPS_RTO_CB, socket);
  EXPECT_EQ(socket.counted(ArmCounter::stalls_limited), 1U);

  run_as(BPF_SOCK_OPS_RTT_CB, socket);
  EXPECT_EQ(socket.user_timeout(), 0U);
  EXPECT_EQ(socket.context.bpf_sock_ops_cb_flags, std::uint32_t{BPF_SOCK_OPS_STATE_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG});
}

TEST(ArmProgram, NeverTakesBackATimeoutThatIsNotOfAStall) {
  for (const std::uint32_t own : {30'000U, limits.user_timeout_ms}) {
    FakeSocket socket = connecting_to("10.1.0.5");
    socket.options[{IPPROTO_TCP, TCP_USER_TIMEOUT}] = own;
    run_as(BPF_SOCK_OPS_RTO_CB, socket);
    run_as(BPF_SOCK_OPS_RTT_CB, socket);
    EXPECT_EQ(socket.user_timeout(), own);
  }
}

TEST(ArmProgram, IgnoresOtherCallsOfTheKernel) {
  const FakeSocket untouched = connecting_to("10.1.0.5");
  for (int op = 0; op < 32; ++op) {
    if (op == BPF_SOCK_OPS_TCP_CONNECT_CB || op == BPF_SOCK_OPS_RTO_CB || op == BPF_SOCK_OPS_RTT_CB) continue;
    FakeSocket socket = untouched;
    run_as(op, socket);
    EXPECT_EQ(socket.options, untouched.options) << op;
  }
}

TEST(ArmPlan, KeepaliveThatIsMerelyOnIsNoChoiceOfTimes) {
  const census::Options on{.keepalive = true,
                           .keepalive_idle_s = 7200,
                           .keepalive_interval_s = 75,
                           .keepalive_probes = 9,
                           .rto_max_ms = 120'000};
  EXPECT_EQ(plan_arms(on), (ArmPlan{.keepalive = true, .user_timeout = true, .rto_max = true}));
}

}  // namespace
}  // namespace ebb::reap
