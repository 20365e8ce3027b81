// Loops of which reverse mode keeps few states, as calls that the adjoint knows.
#pragma once

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// `f` with every outermost loop that says how many of its states are kept (ir::Terminator::snapshots) as a
// call of ir::AddCheckpointedLoop's; loops inside it follow when that loop's schedule is derived. `f` itself
// where there is none. Until here such a loop is the plain loop, so that whatever clean-up makes of that it
// has made of this one.
//
// The call runs all turns but the one in which control leaves the loop, which stays where it was. How many turns
// those are is what the header's lt(%counter, %end) says where nothing else leaves the loop; otherwise they are
// counted first, by running what decides.
StatusOr<uint32_t> OutlineLoops(ir::Module& module, uint32_t f);

}  // namespace pullback::ad
