// Dense contractions: statements with one result that is a sum, over a box, of products of two elements.
//
//   %y = each(i < %n, j < %m, k < %p) {            contract %y[%m*i0 + i1] = %a[%p*i0 + i2] * %b[%m*i2 + i1],
//     %u = index %a[%i, %k]                            i0 < %n, i1 < %m, i2 < %p {
//     %v = index %b[%k, %j]                 =>       for %i in 0..%n { for %j in 0..%m { … } }
//     %w = mul %u, %v                              }
//   } sum [%i, %j] of (%n, %m): %w
//
// Matrix products, transposed or not, products with vectors, batches of them and sums over several axes are all
// of this form; which of them a library takes is told from the steps where they are known, when the program runs
// (jit/runtime/contract.h). A library adds in an order of its own.
#pragma once

#include <optional>

#include "core/ir/ir.h"
#include "core/loops/accesses.h"
#include "core/loops/results.h"

namespace pullback::loops {

// The kContract node, without its body, of a statement whose arrays are made and whose subscripts are checked;
// nullopt: it is no contraction, or a subscript is checked at each point. `plan`: of the first result.
std::optional<Node> PlanContraction(const AccessContext& c, const ir::Inst& inst,
                                    const ResultPlan& plan);

}  // namespace pullback::loops
