// Makes every scalar call of sin or cos a call of sincos, which costs as much and gives the same bits, so
// that those of one argument become one call. Calls are made one by EarlyCSE, which runs next.
#pragma once

#include <llvm/IR/PassManager.h>

namespace pullback::jit {

struct PairSinCosPass : llvm::PassInfoMixin<PairSinCosPass> {
  static llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&);
};

}  // namespace pullback::jit
