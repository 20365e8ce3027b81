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

// Whether one of its statements is a loop, at any depth; not inside expressions.
bool HasLoops(const Block& block);

// Calls fn on the expression and on those parts of it that are evaluated whenever it is; of what fn gives false for,
// on no parts.
void ForEachCertain(const Expr& e, const std::function<bool(const Expr&)>& fn);
// What a statement of a block evaluates whenever the block is; nullptr: nothing.
const Expr* CertainPart(const Stmt& s);

}  // namespace pullback::lang
