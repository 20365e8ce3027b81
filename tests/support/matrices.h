// Jacobians, Hessians and their products against central differences, by the interpreter.
#pragma once

#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"

namespace pullback::testing {

// By every float argument, all of them f64. `tolerance` is relative.
void CheckJacobian(const ir::Module& ssa, const std::vector<Tensor>& args, bool optimise = true,
                   double tolerance = 1e-5);

// The Hessian is the Jacobian of the gradient (by differences), and hvp is the Hessian times a vector.
void CheckHessian(const ir::Module& ssa, const std::vector<Tensor>& args, bool optimise = true,
                  double tolerance = 1e-5);

// One float scalar: what has a Hessian.
bool GivesFloatScalar(const ir::Module& ssa);

}  // namespace pullback::testing
