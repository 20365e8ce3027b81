// A call's text in the place of the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

struct SplicedCall {
  size_t index;  // of the call among the block's instructions
  const Function* callee;
};

// Replaces calls of `block`, by ascending index, by the callees' blocks; what followed a call becomes a new block
// whose parameters are the call's results.
void SpliceCalls(Function& into, uint32_t block, const std::vector<SplicedCall>& calls);
// One of them, where the callee's text reads the arguments themselves, not parameters of a block that gets them.
void SpliceDirectly(Function& into, uint32_t block, size_t index, const Function& callee);

}  // namespace pullback::ir
