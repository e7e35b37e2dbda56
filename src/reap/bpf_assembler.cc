#include "reap/bpf_assembler.h"

#include <limits>

#include "base/assert.h"

namespace ebb::reap {
namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
constexpr Register none = Register::r0;

}  // namespace

void BpfAssembler::put(std::uint8_t code, Register to, Register from, std::int16_t offset, std::int32_t immediate) {
  instructions_.push_back({.code = code,
                           .dst_reg = static_cast<std::uint8_t>(to),
                           .src_reg = static_cast<std::uint8_t>(from),
                           .off = offset,
                           .imm = immediate});
}

BpfAssembler::Label BpfAssembler::label() {
  places_.push_back(nowhere);
  return {places_.size() - 1};
}

void BpfAssembler::place(Label label) { places_[label.number] = instructions_.size(); }

void BpfAssembler::move(Register to, Register from) { put(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
void BpfAssembler::move(Register to, std::int32_t value) { put(BPF_ALU64 | BPF_MOV | BPF_K, to, none, 0, value); }
void BpfAssembler::add(Register to, std::int32_t value) { put(BPF_ALU64 | BPF_ADD | BPF_K, to, none, 0, value); }
void BpfAssembler::or_with(Register to, std::int32_t value) { put(BPF_ALU | BPF_OR | BPF_K, to, none, 0, value); }
void BpfAssembler::and_with(Register to, std::int32_t value) { put(BPF_ALU | BPF_AND | BPF_K, to, none, 0, value); }

void BpfAssembler::load(Register to, Register base, std::int16_t at) {
  put(BPF_LDX | BPF_W | BPF_MEM, to, base, at, 0);
}

void BpfAssembler::store(Register base, std::int16_t at, std::int32_t value) {
  put(BPF_ST | BPF_W | BPF_MEM, base, none, at, value);
}

void BpfAssembler::map_value(Register to, int map, std::uint32_t at) {
  put(BPF_LD | BPF_DW | BPF_IMM, to, Register{BPF_PSEUDO_MAP_VALUE}, 0, map);
  put(0, none, none, 0, static_cast<std::int32_t>(at));  // the second half of a 64-bit load
}

void BpfAssembler::add_atomically(Register base, Register amount) {
  put(BPF_STX | BPF_DW | BPF_ATOMIC, base, amount, 0, BPF_ADD);
}

void BpfAssembler::put_jump(std::uint8_t code, Register left, std::int32_t right, Label to) {
  jumps_.push_back({instructions_.size(), to});
  put(code, left, none, 0, right);
}

void BpfAssembler::jump(Label to) { put_jump(BPF_JMP | BPF_JA, none, 0, to); }

void BpfAssembler::jump_if_equal(Register left, std::int32_t right, Label to) {
  put_jump(BPF_JMP32 | BPF_JEQ | BPF_K, left, right, to);
}

void BpfAssembler::jump_unless_equal(Register left, std::int32_t right, Label to) {
  put_jump(BPF_JMP32 | BPF_JNE | BPF_K, left, right, to);
}

void BpfAssembler::call(std::int32_t helper) { put(BPF_JMP | BPF_CALL, none, none, 0, helper); }
void BpfAssembler::exit() { put(BPF_JMP | BPF_EXIT, none, none, 0, 0); }

std::vector<bpf_insn> BpfAssembler::finish() {
  for (const Jump& jump : jumps_) {
    const std::size_t place = places_[jump.to.number];
    EBB_ASSERT(place != nowhere);
    instructions_[jump.at].off = static_cast<std::int16_t>(place - jump.at - 1);  // counted from after the jump
  }
  return std::move(instructions_);
}

}  // namespace ebb::reap
