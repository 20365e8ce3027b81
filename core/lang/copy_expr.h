// Copies of expressions.
#pragma once

#include "core/lang/ast.h"

namespace pullback::lang {

// A copy of an expression after the checker; null: of more than operators, elements, slices, branches and calls.
ExprPtr Copy(const Expr& e);

}  // namespace pullback::lang
