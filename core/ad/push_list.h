// Forward mode through one instruction on lists, and through `fit`.
#pragma once

#include <functional>
#include <vector>

#include "core/ad/list_functions.h"

namespace pullback::ad {

bool IsListOp(ir::Op op);

// The tangents of the instruction's results, in order; kNoValue where the type carries none. `primal` gives
// a value where the code is built, `tangent` its tangent or kNoValue for zero. Some operand's is not zero.
std::vector<ir::Value> PushListOp(ir::Builder& b, ListFunctions& lists, const ir::Inst& inst,
                                  const std::function<ir::Value(ir::Value)>& primal,
                                  const std::function<ir::Value(ir::Value)>& tangent);

}  // namespace pullback::ad
