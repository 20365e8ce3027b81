// Statements, in block mode (and lets in bodies).
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

// The statements of a block, without its result. False: control does not reach the end.
bool LowerStatements(Context& c, const Block& block);
// A let or var.
bool LowerLet(Context& c, const Stmt& s);
// Body mode: lets only; false when there is more (or a let bails).
bool LowerLets(Context& c, const Block& block);
bool LowerLets(Context& c, const Block& block, size_t count);  // the first `count` statements

// Joins exits in a new block whose parameters are the variables that differ, and goes on there.
// False when there is none.
bool JoinExits(Context& c, const std::vector<Exit>& exits, const Variables& variables);
// The same for values: all exits carry one list of leaves (in `values[0]`).
Leaves JoinValues(Context& c, const std::vector<Exit>& exits);

// Goes on in a block that nothing reaches: code after an expression that never yields.
void StartDeadBlock(Context& c);

}  // namespace pullback::lang
