// Derivatives as users see them: no short zeros (core/ad/list_functions.h) are left in a result.
#pragma once

#include <cstdint>

#include "core/ad/list_functions.h"

namespace pullback::ad {

// `derived` gives the results of `of`, then tangents of those that carry one. A function that gives lists
// among these in the results' shape; `derived` itself where there are none.
uint32_t FillTangents(ir::Module& module, ListFunctions& lists, uint32_t derived, uint32_t of);

// `derived` takes the parameters of `of`, then others, and gives the results of `of`, then cotangents of
// the parameters in `wrt`.
uint32_t FillCotangents(ir::Module& module, ListFunctions& lists, uint32_t derived, uint32_t of,
                        const std::vector<bool>& wrt);

}  // namespace pullback::ad
