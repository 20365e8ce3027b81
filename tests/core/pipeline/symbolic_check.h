// Patterns that are told before anything runs, against those that sparse Jacobians and Hessians find when they run.
#pragma once

#include <vector>

#include "core/pipeline/pipeline.h"
#include "tests/core/pipeline/sparse_check.h"

namespace pullback::pipeline {

// How many blocks had a pattern that could be evaluated, and of how many it was just what is found.
struct ToldPatterns {
  int told = 0, exact = 0;
  ToldPatterns& operator+=(const ToldPatterns& o) {
    told += o.told;
    exact += o.exact;
    return *this;
  }
};

// Requires that none misses an element of `found`, the blocks of `ssa`, a derivation's Staged::ssa, at these arguments.
ToldPatterns CheckTold(const ir::Module& ssa, Transform transform, const std::vector<bool>& wrt,
                       const std::vector<Tensor>& args, const std::vector<CooBlock>& found);

}  // namespace pullback::pipeline
