// Statements that read an array by rows run over its rows first, where another array's index was around that one and the
// array may be larger than any of the function's own:
//
//   %s = each(i < %n, j < %n, a < %d) { … } sum [%i, %j] of (%n, %n): %p
//   %y = each(j < %n, i < %n, l < %d) { … %s[%i, %j] … %g[%i, %l] … } sum [%j, %l] of (%n, %d): %t
//
//   %y = each(i < %n, j < %n, l < %d) { … %s[%i, %j] … %g[%i, %l] … } sum [%j, %l] of (%n, %d): %t
//
// The loops over the rows can then become one, and %s one row (fuse_rows.h). No element takes its terms in another order.
// (Final IR has the result's indices first where it can: a device gathers what it would have to scatter.)
#pragma once

#include <optional>

#include "core/ir/ir.h"

namespace pullback::loops {

// nullopt: there is no such statement.
std::optional<ir::Function> RunRowsFirst(const ir::Function& f);

}  // namespace pullback::loops
