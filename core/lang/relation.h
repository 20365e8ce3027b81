// Relations, `rel[n, m]`: which tuples of indices are related. Arity 1 to 4.
//
// A relation is the arrays of its tuples (core/base/relation.h says what each holds), and lowers to
// them; so it has no tangent, and may be passed, captured and bound like a tuple. As a written type it
// has its sizes and a 0 as `dims`, those of the first array, and the other arrays as `elements`.
#pragma once

#include "core/lang/ast.h"

namespace pullback::lang {

inline constexpr size_t kMaxArity = 4;

Type RelationType(size_t arity);
size_t ArityOf(const Type& relation);

// Completes a written relation, of which `dims` are the sizes.
void FinishRelation(TypeExpr& t);
// The first of the arrays, as written.
inline size_t ArityOf(const TypeExpr& relation) { return relation.dims.size() - 1; }

}  // namespace pullback::lang
