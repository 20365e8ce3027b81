// Argmax and argmin over an index for each value of another one that is equal to what is read, [k[i] == j]: as an
// extremum and as the least i that attains it, which take other forms than the prefix form.
#pragma once

#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

// Whether an index of the result's subscripts is looked up for it, and one index is reduced.
bool IsArgUnderEquality(const ir::Each& each, const ir::Function& f, const ir::EachResult& r);

// Of such a statement with this one result: the extremum, the least index that attains it, or is a NaN, and -1 where
// there is none.
std::vector<ir::Inst> SplitArg(ir::Inst inst, ir::Function& f);

}  // namespace pullback::tensor
