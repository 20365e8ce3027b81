// Where the elements of a statement's result may be other than 0, as its predicate and the guards of its
// body say: the sparsity pattern of an array (Bernstein et al., section 6, of a Jacobian).
#pragma once

#include <vector>

#include "core/analysis/box.h"
#include "core/ir/ir.h"

namespace pullback::analysis {

// A conjunction holds where all of its constraints do; none: everywhere. Over the statement's indices and
// values from outside.
using Conjunction = std::vector<ir::Constraint>;

// A disjunction, over the points of the statement's box: no element whose point is in none of them is
// other than 0. Empty: all are 0. Numbers are 0 where nothing was, not where arithmetic gives 0; a product
// is 0 where a factor is.
std::vector<Conjunction> SupportOf(const ir::Each& each, const ir::EachResult& result,
                                   const Box& box);

}  // namespace pullback::analysis
