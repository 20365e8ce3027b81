// Gradients by forward mode, where that costs less than reverse mode.
#pragma once

#include <vector>

#include "core/ad/adjoint.h"
#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// Forward mode carries a tangent for each parameter through a loop and keeps nothing; reverse mode runs the
// loop twice and keeps what each turn needs. By up to this many scalars the first was faster in every loop
// measured that does more than add and multiply scalars (docs/benchmarks.md).
inline constexpr int kMostForward = 2;

// Whether the gradient of `f` by the parameters in `wrt` is made by forward mode: these are at most kMostForward
// float scalars, one result carries a tangent and is a float scalar, and what has a tangent goes through a loop
// that does more than add and multiply scalars, or through a recursion. Never where `f` reaches a derivative rule or a checkpointed call, which are about reverse mode,
// or a function whose partial is infinite somewhere where its value is not (a zero cotangent keeps that out of a
// sum, a zero tangent does not).
bool PrefersForward(const ir::Module& module, uint32_t f, const std::vector<bool>& wrt);

// As BuildGradient, in the mode that PrefersForward says. What forward mode makes is named .forward_grad.
StatusOr<uint32_t> BuildCheaperGradient(ir::Module& module, uint32_t f,
                                        const std::vector<bool>& wrt, Seed seed,
                                        Mixed mixed = Mixed::kAuto);

}  // namespace pullback::ad
