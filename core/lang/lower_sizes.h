// Sizes: what headers say of them, and run-time checks where they are not known to be right.
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

// The start of a function (or of an inlined one, in a body): binds the size variables to what the
// arguments give and checks the others against them. False: a check that a body cannot make.
bool BindSizes(Context& c);
// Traps (kSizeMismatch) unless the array has the sizes written in `type`. False: as above.
bool CheckDeclared(Context& c, const TypeExpr& type, const Leaf& leaf);

// Sizes of the results of a call, where they are affine forms of the arguments'.
using Extents = std::vector<std::optional<Affine>>;
std::vector<Extents> ResultExtents(Context& c, const Function& callee, const Leaves& args);

// --- facts about affine forms
bool IsNonNegative(const Context& c, const Affine& a);  // provably
bool IsSmall(const Context& c, const Affine& a);        // sums of few small values: no overflow
// A lower bound of `a` (an upper one: of -a) over the boxes of the open frames and the loops
// around.
Affine Least(const Context& c, const Affine& a);
// Provably, wherever the code being written runs.
bool IsNeverNegative(const Context& c, const Affine& a);

// --- checks. In a body they are made before the statement, at the corner where they fail first;
// false when that is not possible without trapping where the program would not.
bool Require(Context& c, const Constraint& condition, ir::TrapKind kind, const Affine& a,
             const Affine& b);
bool RequireEqual(Context& c, const Affine& a, const Affine& b);          // kSizeMismatch
bool RequireInside(Context& c, const Affine& sub, const Affine& extent);  // kIndex
// Any condition over values that blocks define.
bool RequireValue(Context& c, const std::function<Value()>& condition, ir::TrapKind kind,
                  const Affine& a, const Affine& b);

}  // namespace pullback::lang
