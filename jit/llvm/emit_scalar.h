// Scalar ops of the loop IR as LLVM instructions: a table with one row per op. The same rows serve
// scalars and vectors of lanes.
#pragma once

#include "jit/llvm/module.h"

namespace pullback::jit {

// One op to be written: operands (all scalars, or all vectors of one length) and types.
struct OpSite {
  ModuleEmitter& m;
  llvm::IRBuilder<>& b;
  llvm::ArrayRef<llvm::Value*> args;
  DType operand;  // of args[0]
  DType result;
  ir::Op op;
  int lanes = 0;  // length of the vectors; 0: scalars
};

bool HasScalarRow(ir::Op op);
llvm::Value* EmitOp(OpSite site);
// Const: the value that `bits` stands for.
llvm::Constant* EmitConst(const ModuleEmitter& m, DType t, uint64_t bits);
// x combined with y by the monoid (kSum, kProd, kMax, kMin), and its identity.
llvm::Value* EmitCombine(OpSite site, ir::Monoid monoid);
llvm::Constant* EmitIdentity(const ModuleEmitter& m, DType t, ir::Monoid monoid);

}  // namespace pullback::jit
