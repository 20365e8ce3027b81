// Jacobians of straight-line code by rewriting (Bernstein et al., section 6; Shaikhha et al., section 5):
// the tangent of a parameter is seeded with [k = i], an axis of seeds in front of its own, and pushed
// through all statements at once. Normalisation then eliminates what the predicate determines; what is
// left of it in a block's statement is the block's sparsity pattern.
#pragma once

#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

struct SeededJacobian {
  uint32_t function = 0;
  // Arrays with an axis of seeds. Blocks are among them; where others are left after normalisation, the
  // code holds more than its results and a loop over seeds is the better program.
  std::vector<ir::Value> seeded;
};

// By result of f: what becomes of it.
struct JacobianRows {
  std::vector<bool> given;           // it is a result of the new function too
  std::vector<bool> differentiated;  // floats
};

// A new function: (params of f…) -> (results that are given…, a block for every result that is
// differentiated and every float parameter in wrt), as ir::AddJacobian has it. Nothing where the code of f
// is more than one block, or has no form for all seeds at once, or would be written too often; `module` is
// then to be thrown away.
StatusOr<std::optional<SeededJacobian>> SeedJacobian(ir::Module& module, uint32_t f,
                                                     const std::vector<bool>& wrt,
                                                     const JacobianRows& rows);

}  // namespace pullback::ad
