// Contractions on a device: a kernel whose threads all read the same rows and columns shares them
// (offload.h, kTiles).
#pragma once

#include "core/loops/offload.h"

namespace pullback::loops {

// Makes a kGrid kernel of the nest one of tiles where it can be. The nest is one path of loops: the parallel
// ones and a single other, with bounds known outside, over which loads step that depend on one of the two
// innermost parallel loops only. There is a load for each of the two; nothing branches or may fail, so that
// all threads of a block come to its barriers.
void PlanTiles(const Function& f, const OffloadNest& nest, OffloadKernel* kernel);

}  // namespace pullback::loops
