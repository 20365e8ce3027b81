// What is known of integers as extents, whatever the inputs are.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/loops/loops.h"

namespace pullback::loops {

struct KnownExtents {
  std::set<Reg>
      of_arrays;  // no more than an axis of some array of the function's: its extent, or surely less
  std::set<Reg> constants;  // that an array may have
};

// Of the registers that blocks define outside of their loops.
KnownExtents FindKnownExtents(const Function& f);

// `gone`: by array, an axis that it has no more and that may be longer than any array's. In front of where it was made,
// among `nodes` of a block, one that is too long traps all the same: what is proven of subscripts rests on it.
void LimitExtents(Function& f, const std::map<Reg, Reg>& gone, std::vector<Node>& nodes);

}  // namespace pullback::loops
