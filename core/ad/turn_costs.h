// What the turns of a loop take, as far as its text tells.
#pragma once

#include "core/ad/loop_parts.h"
#include "core/analysis/loop_nest.h"

namespace pullback::ad {

// Whether turns take more than arithmetic: functions of the math table, calls, statements over so many indices that make arrays
// of floats.
bool IsDear(const ir::Function& f, const Loop& loop, size_t indices);

// Whether what the turns read of an array from outside is all of it, by its text: every axis is read by the counter of the loop,
// or one inside, or an index of a statement, and no other axis by the same. Arrays of floats; false where there are calls.
bool ReadsAll(const ir::Function& f, const Loop& loop, const analysis::LoopNest& nest,
              const LoopParts& parts);

}  // namespace pullback::ad
