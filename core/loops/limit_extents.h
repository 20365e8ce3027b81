// Extents that arrays have no more.
#pragma once

#include <map>
#include <vector>

#include "core/ir/known_extents.h"
#include "core/loops/loops.h"

namespace pullback::loops {

// Of the registers that blocks define outside of their loops.
ir::KnownExtents FindKnownExtents(const Function& f);

// `gone`: by array, axes that it has no more and that may be longer than any array's. In front of where it was made,
// among `nodes` of a block, one that is too long traps all the same: what is proven of subscripts rests on it.
void LimitExtents(Function& f, const std::multimap<Reg, Reg>& gone, std::vector<Node>& nodes);

}  // namespace pullback::loops
