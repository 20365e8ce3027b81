// Where the registers of the loop IR are while tier 0 writes a function. Each has a slot in the frame
// that always holds it, and is stored there when it is defined; machine registers are a cache over the
// slots that lives until control flow meets, or something is called. Constants have no slot.
//
// rax, rcx, rdx, xmm0 and xmm1 are scratch for whoever writes an instruction. rbx holds the context, rbp the
// frame.
#pragma once

#include <asmjit/x86.h>

#include <array>
#include <cstdint>
#include <vector>

#include "core/loops/loops.h"
#include "jit/baseline/lifetimes.h"

namespace pullback::jit {

namespace x86 = asmjit::x86;

// Words of a frame, below what the prologue keeps there.
class Frame {
 public:
  static constexpr int kKept = 32;  // bytes under rbp: rbx, the results' and the arguments' address
  int Take(int words);              // offset from rbp of the lowest
  void Give(int offset, int words);
  int64_t bytes() const { return int64_t{8} * top_; }

 private:
  std::vector<int> free_[2];  // of 1 word, of eight
  int top_ = 0;
};

class Values {
 public:
  using Reg = loops::Reg;
  Values(x86::Assembler& a, const loops::Function& f, const Lifetimes& lifetimes);

  // A node's operands stay in their machine registers until the next node starts.
  void StartNode() { locked_ = {}; }

  // In a machine register that must not be written to. Int: i64, bool (0 or 1), handles.
  x86::Gp Int(Reg r);
  x86::Xmm Float(Reg r);
  // In a scratch register, or one of the calling convention.
  void IntTo(const x86::Gp& to, Reg r);
  void FloatTo(const x86::Xmm& to, Reg r);
  // All its bits to memory; through rax.
  void Copy(const x86::Mem& to, Reg r);
  // The same with the upper half of an f32 cleared.
  void CopyClean(const x86::Mem& to, Reg r);
  // Sets the flags: zero when the bool is false.
  void Test(Reg r);
  std::optional<uint64_t> Constant(Reg r) const { return lifetimes_.Constant(r); }

  // A machine register of a register about to be defined; then Keep, once it is written.
  x86::Gp NewInt(Reg r);
  x86::Xmm NewFloat(Reg r);
  void Keep(Reg r);
  // Defines it by what a scratch register holds.
  void Set(Reg r, const x86::Gp& from);
  // For a value between instructions of this node.
  x86::Gp SomeInt();
  x86::Xmm SomeFloat();

  x86::Mem Slot(Reg r);  // taken now when it has none yet
  // What is known of machine registers; the slots hold everything.
  void Forget();
  struct Known {
    std::array<uint32_t, 6> ints;
    std::array<uint32_t, 14> floats;
  };
  Known known() const { return known_; }
  void Restore(const Known& known) { known_ = known; }
  void End(Reg r);  // gives its slot back

  const Frame& frame() const { return frame_; }
  Frame& frame() { return frame_; }

 private:
  struct Locked {
    uint32_t ints = 0, floats = 0;  // bits by place
  };
  static constexpr uint32_t kNobody = ~uint32_t{0};

  size_t PlaceOfInt();
  size_t PlaceOfFloat();
  void LoadConstant(const x86::Gp& to, uint64_t bits);
  void LoadFloat(const x86::Xmm& to, Reg r);
  bool IsF32(Reg r) const { return f_.TypeOf(r).elem == DType::kF32; }
  int Words(Reg r) const { return f_.regs[r.id].lanes ? 8 : 1; }

  x86::Assembler& a_;
  const loops::Function& f_;
  const Lifetimes& lifetimes_;
  Frame frame_;
  std::vector<int> slots_;  // by register: offset from rbp; 0: none
  Known known_;
  Locked locked_;
  size_t next_int_ = 0, next_float_ = 0;
};

}  // namespace pullback::jit
