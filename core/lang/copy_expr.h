// Copies of expressions.
#pragma once

#include <functional>

#include "core/lang/ast.h"

namespace pullback::lang {

// A copy of an expression after the checker; null: of more than operators, elements, slices, branches and calls.
ExprPtr Copy(const Expr& e);

// A copy with comprehensions, too, whose parts are what `replace` gives for them; null: they are copied. Its binders
// and names are those of e: only one of the two is to be evaluated.
using Replace = std::function<ExprPtr(const Expr&)>;
ExprPtr CopyWith(const Expr& e, const Replace& replace);

}  // namespace pullback::lang
