// What the turns of a loop take, as far as its text tells.
#pragma once

#include "core/ad/loop_parts.h"
#include "core/ad/prepare.h"
#include "core/analysis/loop_nest.h"

namespace pullback::ad {

// Whether turns take more than arithmetic: functions of the math table, calls, statements over so many indices that make arrays
// of floats.
bool IsDear(const ir::Function& f, const Loop& loop, size_t indices);

// Whether what the turns read of an array from outside is all of it, by its text: every axis is read by the counter of the loop,
// or one inside, or an index of a statement, and no other axis by the same. Arrays of floats; false where there are calls.
bool ReadsAll(const ir::Function& f, const Loop& loop, const analysis::LoopNest& nest,
              const LoopParts& parts);

// Whether it reads an array some element of which a loop around updates: to be run again it would have to be kept as it is, and
// each update would copy it, which may take longer than the loop. Not so of few long axes, or where fewer turns update it.
bool KeepsVersions(const ir::Function& f, const Loop& loop, const analysis::LoopNest& nest,
                   const ReverseFlow& flow, const LoopParts& parts);

}  // namespace pullback::ad
