// Which values of a function something needs: what it returns, where it goes, and what it does besides.
#pragma once

#include <vector>

#include "core/ir/ir.h"

namespace pullback::ad {

// By value. Of what is popped from a tape the tape is needed, what was on it only if something else needs it; of a parameter of a
// block likewise.
std::vector<char> FindLiveValues(const ir::Function& f);
// Without what defines values that are not live alone. Parameters stay that are the first of their block.
void RemoveDead(ir::Function& f, const std::vector<char>& live);

}  // namespace pullback::ad
