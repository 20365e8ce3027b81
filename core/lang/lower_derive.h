// Derivative operators as the IR's jvp, vjp and checkpointed calls; rules of functions.
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

// By leaf of an argument whether its gradient has one for it: the gradient of a function is that of what it captures
// and holds floats (GradientType).
std::vector<bool> LeavesInGradient(const Type& t);
// A kDerive. Bails in a body.
std::optional<Leaves> LowerDerive(Context& c, const Expr& e);
// stop_gradient(x): every leaf. Bails in a body where one is an array.
std::optional<Leaves> LowerStopGradient(Context& c, const Expr& e);

// Gives the function's rules to its IR function: they are called through functions of the IR's form,
// which leave out what carries no tangent and check that gradients have their parameter's sizes.
void LowerRules(ModuleContext& m, uint32_t function);

}  // namespace pullback::lang
