// Writes a small BPF program, instruction by instruction, with labels instead of distances. Supports only what
// arm_program.cc needs; the kernel's verifier checks the rest.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

namespace ebb::reap {

enum class Register : std::uint8_t { r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, frame };

class BpfAssembler {
 public:
  struct Label {
    std::size_t number;
  };

  Label label();            // a place that comes later
  void place(Label label);  // the label stands here

  void move(Register to, Register from);
  void move(Register to, std::int32_t value);
  void add(Register to, std::int32_t value);
  void or_with(Register to, std::int32_t value);           // on the low 32 bits; the others become zero
  void and_with(Register to, std::int32_t value);          // the same
  void load(Register to, Register base, std::int16_t at);  // 32 bits
  void store(Register base, std::int16_t at, std::int32_t value);
  void map_value(Register to, int map, std::uint32_t at);  // the address of a byte in an array's only element
  void add_atomically(Register base, Register amount);     // 64 bits
  void jump(Label to);
  void jump_if_equal(Register left, std::int32_t right, Label to);  // compares the low 32 bits
  void jump_unless_equal(Register left, std::int32_t right, Label to);
  void call(std::int32_t helper);
  void exit();

  // All labels of jumps must be placed.
  std::vector<bpf_insn> finish();

 private:
  struct Jump {
    std::size_t at;
    Label to;
  };
  void put(std::uint8_t code, Register to, Register from, std::int16_t offset, std::int32_t immediate);
  void put_jump(std::uint8_t code, Register left, std::int32_t right, Label to);

  std::vector<bpf_insn> instructions_;
  std::vector<std::size_t> places_;  // by label
  std::vector<Jump> jumps_;
};

}  // namespace ebb::reap
