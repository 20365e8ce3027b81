// Partial derivatives of the scalar ops, each written once. Tangent mode reads them as
// y_dot = sum_k smul(x_dot[k], p[k]), reverse mode as x_bar[k] += smul(y_bar, p[k]).
//
// Conventions at corners (docs/language.md has them for users):
//   |x|' = sign(x), 0 at 0        min/max: on a tie the first operand gets all
//   sqrt'(0) = 0, cbrt'(0) = 0    hypot, atan2 at (0, 0): 0
//   x^y by x: y x^(y-1), 0 where y = 0 (strong)      x^y by y: x^y log x, 0 where x <= 0
//   fmod(x, y): (1, -trunc(x / y))    floor, ceil, round, trunc, sign: 0
#pragma once

#include <functional>

#include "core/ir/builder.h"

namespace pullback::ad {

// A partial: nothing, +1, -1, or a value.
struct Partial {
  enum class Kind : uint8_t { kZero, kOne, kMinusOne, kValue } kind = Kind::kZero;
  ir::Value value;
};

// The instruction whose partials are asked for. `primal` gives its operands' and result's values where
// the partial is to be computed; it is called only for those that the partial needs.
struct Site {
  ir::Builder& b;
  const ir::Inst& inst;
  const std::function<ir::Value(ir::Value)>& primal;
};

// How an op takes part in differentiation.
enum class Rule : uint8_t {
  kPartials,   // scalar, PartialOf gives d result / d operand k
  kConstant,   // no derivative: comparisons, booleans, floor, constants …
  kStructural  // linear or composite: the transforms handle it (select, cast, arrays, calls, tape)
};
Rule RuleOf(ir::Op op);
inline bool IsConstant(ir::Op op) { return RuleOf(op) == Rule::kConstant; }

// d result / d args[k]; RuleOf(op) must be kPartials and the result a float.
Partial PartialOf(const Site& site, int k);

// w * p as the strong multiply, folded for 0 and ±1; kNoValue is the symbolic zero.
ir::Value Times(ir::Builder& b, ir::Value w, const Partial& p);

}  // namespace pullback::ad
