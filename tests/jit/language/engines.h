// Engines against each other on one final module, from any thread.
#pragma once

#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"

namespace pullback::testing {

// The reference interpreter, the interpreter of loops (which sees to references as well) and native code in
// each tier of `levels` (jit::kTierZero, 0 and 2 for LLVM): the same bits. What differs otherwise; empty: nothing. Lists may be
// arguments and results.
std::string EnginesDiffer(const ir::Module& final, const std::vector<Tensor>& args,
                          const std::vector<int>& levels);

}  // namespace pullback::testing
