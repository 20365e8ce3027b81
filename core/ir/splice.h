// A call's text in the place of the call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ir/ir.h"

namespace pullback::ir {

// Replaces the call that is instruction `index` of `block` by the callee's blocks; what followed it becomes a
// new block whose parameters are the call's results. direct: the callee's text reads the arguments
// themselves, not parameters of a block that gets them.
void SpliceCall(Function& into, uint32_t block, size_t index, const Function& callee,
                bool direct = false);

}  // namespace pullback::ir
