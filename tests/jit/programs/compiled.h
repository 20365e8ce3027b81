// Runs a final module through loops and the LLVM back end, on plain tensors.
#pragma once

#include <span>
#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"
#include "tests/jit/llvm_support.h"

namespace pullback::testing {

// Fails the test on any error or trap.
std::vector<Tensor> RunCompiled(const ir::Module& final, const std::vector<Tensor>& args,
                                int opt_level = 2);

inline constexpr int kEveryLevel[] = {2, 0, jit::kTierZero};  // of LLVM, and tier 0
inline constexpr int kEveryTier[] = {2, jit::kTierZero};

// Compiled at each of these levels, and interpreted: the same bits.
void CheckBitwise(const ir::Module& final, const std::vector<Tensor>& args,
                  std::span<const int> levels = kEveryLevel);

}  // namespace pullback::testing
