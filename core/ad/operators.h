// Derivative operators inside a program (`jvp`, `vjp`): replaced by calls of derived functions, innermost
// first, so that what an outer level derives is plain code.
#pragma once

#include "core/ad/mixed.h"
#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

bool HasOperators(const ir::Module& module);

// Replaces every jvp and vjp of a function that reaches no operator itself; the derived function of each
// (function, op, wrt) is made once. Run again while operators are left. INVALID_ARGUMENT
// (UNBOUNDED_DERIVATIVE, the place as ordinal in the message's trailing "!N") where each operator left
// reaches itself: a level that only recursion at run time would bound.
Status DeriveInnermost(ir::Module& module, Mixed mixed = Mixed::kAuto);

// UNIMPLEMENTED where deriving `f` derives what has no derivative yet: boxes with floats.
Status CheckDerivable(const ir::Module& module, uint32_t f);

}  // namespace pullback::ad
