// Questions about source text that lowering asks before it writes anything.
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

// Locals that statements of the block assign (not those that it declares), sorted.
Variables AssignedIn(const Block& block);
Variables AssignedIn(const std::vector<CondArm>& arms);
// Every assignment to `local` in the block is to an element of it, or to a part of one.
bool OnlyElementsAssigned(const Block& block, uint32_t local);

// Locals that are used in the block but neither declared nor bound there, in order of first use.
std::vector<uint32_t> FreeLocals(const Block& block);

}  // namespace pullback::lang
