// Random tensor statements for the comparison of loops with the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"

namespace pullback::loops {

struct RandomProgram {
  ir::Module module;
  std::vector<Tensor> args;
};

// One statement over at most four indices with random constraints, guarded reads, gathers and
// results of every form, and arguments for it. Some programs trap. Equal seeds give equal programs.
RandomProgram MakeRandomStatement(uint64_t seed);

}  // namespace pullback::loops
