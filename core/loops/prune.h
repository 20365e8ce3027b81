// Drops registers that nobody reads: pure nodes, loads, whose checks were made before them, and arrays that are made and
// released.
#pragma once

#include "core/loops/loops.h"

namespace pullback::loops {

void PruneDead(Function& f);

}  // namespace pullback::loops
