// Scalar ops of the loop IR as instructions: a table with one row per op.
#pragma once

#include <asmjit/x86.h>

#include "core/loops/loops.h"

namespace pullback::jit {

// One op to be written: operands in machine registers that stay as they are, and the one of the result,
// which is none of them. Scratch: rax, rcx, rdx, xmm0, xmm1.
struct ScalarSite {
  asmjit::x86::Assembler& a;
  asmjit::x86::Reg x[3];
  asmjit::x86::Reg to;
  DType operand;  // of x[0]
  DType result;
};

bool HasScalarCode(ir::Op op);
void WriteScalar(ir::Op op, const ScalarSite& site);
// A function of the math table is called instead; its operands are the call's.
bool IsMathCall(ir::Op op, DType operand);

}  // namespace pullback::jit
