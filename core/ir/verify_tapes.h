// Invariant 7: a tape is consumed at most once on every path.
#pragma once

#include "core/ir/ir.h"

namespace pullback::ir::internal {

// A tape that some path uses twice, or kNoValue. `block` is set to where the second use stands.
Value FindReusedTape(const Function& f, uint32_t* block);

}  // namespace pullback::ir::internal
