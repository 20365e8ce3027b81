// Programs whose values and derivatives are right, and whose work grows as the input does, by counting.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/derivatives.h"

namespace pullback::testing {

std::vector<double> Numbers(int64_t n);
Tensor Ints(const std::vector<int64_t>& v);

// Of the interpreter.
int64_t Steps(const ir::Module& final, const std::vector<Tensor>& args);

// Optimised and not, and the derivatives against differences.
void CheckValues(const ir::Module& ssa, const std::vector<Tensor>& args);

// Twice the size costs about twice as much, in value and gradient.
void CheckLinear(const ir::Module& ssa, const std::vector<Tensor>& small,
                 const std::vector<Tensor>& large,
                 const std::vector<pipeline::Transform>& transforms = {
                     pipeline::Transform::kValue, pipeline::Transform::kValueAndGrad});

}  // namespace pullback::testing
