// Programs that give the same optimised and not, for passes that add in another order or move what traps.
#pragma once

#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"
#include "core/pipeline/pipeline.h"

namespace pullback::testing {

// What the transform gives agrees but for rounding, and is NaN in the same places.
void CheckSameOptimised(const ir::Module& ssa, pipeline::Transform transform,
                        const std::vector<Tensor>& args);

// Neither ends the run, or both do by one error: its kind, place and numbers. True: they do.
bool CheckSameTrap(const ir::Module& module, const ir::Module& plain,
                   const std::vector<Tensor>& args);

// 0.4 sin(start + 3 k) for element k: numbers of either sign that differ.
Tensor Waves(int64_t rows, int64_t columns, double start);

}  // namespace pullback::testing
