// Final IR -> loops. Statements' predicates become loop bounds where substitution and interval
// arithmetic solve them: an equality with a unit coefficient pins an index (no loop), an inequality
// narrows bounds, the rest are tests. Bounds checks of accesses that are affine over the whole box are
// made once before the loops; others per element; those proven are dropped. Reference counts are
// placed by liveness (last use consumes), so that update and add_at are in place where unique.
// INTERNAL (LOOPS_INVALID) when the IR is outside what the verifier allows, or the loops are outside what
// theirs does (core/loops/verify.h).
#pragma once

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/loops/loops.h"

namespace pullback::loops {

struct LowerOptions {
  bool contractions = false;  // dense contractions become kContract nodes
  bool columns = false;       // sums down columns go by strips (core/loops/columns.h)
  bool segments = false;  // the argmax of a whole array goes by segments (core/loops/segments.h)
  bool rows = false;      // arrays that are used row by row hold one (core/loops/fuse_rows.h)
};
StatusOr<Module> LowerToLoops(const ir::Module& module, const LowerOptions& options = {});

}  // namespace pullback::loops
