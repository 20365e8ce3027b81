// Drops registers that nobody reads: pure nodes, and loads, whose checks were made before them.
#pragma once

#include "core/loops/loops.h"

namespace pullback::loops {

void PruneDead(Function& f);

}  // namespace pullback::loops
