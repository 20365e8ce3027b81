// Scalar operations on bits: an f64 or i64 in 64 bits, an f32 in the low 32, a bool as 0 or 1.
#pragma once

#include <cstdint>

#include "core/ir/ir.h"

namespace pullback::eval {

// Any op whose rule is not Own, except cast. `operand` is the type of the first operand (of the
// second for select). An integer division by zero must have been caught before.
uint64_t EvalScalar(ir::Op op, DType operand, const uint64_t* args);
uint64_t EvalCast(DType from, DType to, uint64_t v);
// Whether this is the integer division or remainder by zero that traps.
bool DividesByZero(ir::Op op, DType operand, const uint64_t* args);

uint64_t CanonicalNan(DType t, uint64_t v);  // v, or the positive quiet NaN when it is a NaN

}  // namespace pullback::eval
