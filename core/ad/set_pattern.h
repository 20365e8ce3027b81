// Which elements of a result depend on which elements of a parameter, for code with control flow: the function run
// with a set of columns beside every float that depends on the parameter. Branches are taken as the function takes
// them, so what is found is the pattern of this run: it misses no element of the derivative at these arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ad/sparse_pattern.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// A set is a list of intervals of columns and has room for so many: 32, but fewer where an array of sets of the
// parameter would have more than 2^24 numbers (128 MiB). With more, intervals that are close become one.
inline constexpr int64_t kMostInSet = 32, kLeastInSet = 8, kNumbersOfSets = int64_t{1} << 24;
// How wide a row is where there are so many columns.
ir::Value SetWidth(ir::Builder& b, const SparseFunctions& functions, ir::Value columns);

// A new function: (width, params of f…, sets of parameter p) -> (results of f…, sets of every result that carries a
// tangent…). Sets are [elements, width]; beside a list a list (set_lists.h). A function with derivatives of its own
// has the pattern of these (set_rules.h). Nothing where something on the way is not followed: subscripts that call
// functions.
std::optional<uint32_t> AddSetsFunction(ir::Module& module, uint32_t f, size_t p,
                                        const SparseFunctions& functions);

}  // namespace pullback::ad
