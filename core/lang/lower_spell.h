// Matrices of relations with a name, read otherwise than by what adds up single elements:
//
//   let a = gen i < n, j < n { [r(i, j)] * w[i] };   max k < n { a[p, k] }     sum i < n, j < n { a[i, j] * a[j, i] }
//
// There what the name stands for is spelled out, so that the bracket tells which indices are looked at and nobody needs
// the matrix: max k < n { [r(p, k)] * w[p] }. (Sums by one element follow its tuples, core/tensor/follow_tuples.cc.)
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

// --- lower_named_matrix.cc
// Block mode: remembers what the let names, if it is such a matrix whose elements are cheap to compute again.
void NoteMatrix(Context& c, const Stmt& let);
// The one that it names; nullptr: it is none.
const NamedMatrix* MatrixOf(const Context& c, const Expr& name);
// sum(a * a.T) as sum i < n, j < n { a[i, j] * a[j, i] }; nullptr: it is no reduction of such matrices alone.
ExprPtr ByElements(const Context& c, const Expr& e);

// --- lower_spell.cc
// Block mode: the comprehension with elements of such matrices spelled out where that tells indices; else itself.
const Expr* Spelled(Context& c, const Expr* e);

}  // namespace pullback::lang
