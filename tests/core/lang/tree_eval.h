// Runs a checked program on its tree: the reference that lowering is compared with. Written for
// clarity only; sums add one term after the other. A comprehension of arrays that has no elements
// is given up with kStopped: what it would need is the sizes of values that nothing computes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"
#include "core/lang/lang.h"

namespace pullback::lang {

struct TreeResult {
  std::vector<Tensor> values;  // flattened; empty when it trapped
  std::optional<ir::TrapKind> trap;
};

TreeResult RunTree(const Program& program, const std::string& entry,
                   const std::vector<Tensor>& args);

}  // namespace pullback::lang
