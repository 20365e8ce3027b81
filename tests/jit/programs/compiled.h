// Runs a final module through loops and the LLVM back end, on plain tensors.
#pragma once

#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"

namespace pullback::testing {

// Fails the test on any error or trap.
std::vector<Tensor> RunCompiled(const ir::Module& final, const std::vector<Tensor>& args,
                                int opt_level = 2);

// Compiled by LLVM at O2 and O0 and by tier 0, and interpreted: the same bits.
void CheckBitwise(const ir::Module& final, const std::vector<Tensor>& args);

}  // namespace pullback::testing
