// Extents of arrays that loops carry.
#pragma once

#include "core/ir/ir.h"
#include "core/opt/rules.h"

namespace pullback::opt {

// An array parameter of a block that gets arrays of one extent on every edge has that extent, however many turns make the
// array anew:
//
//   jump b1(%x)                           %n = dim %x, 0
//   b1(%s): %n = dim %s, 0                jump b1(%x)
//   b2: %t = each(i < %n) …               b1(%s): …
//       gen [%i] of (%n); jump b1(%t)     b2: %t = each(i < %n) … gen [%i] of (%n); jump b1(%t)
//
// So readers are in range, statements fuse, and no turn keeps its sizes on the tape. Without unreachable blocks. True:
// changed.
bool ReadCarriedExtents(ir::Function& f, const RewriteOptions& options);

}  // namespace pullback::opt
