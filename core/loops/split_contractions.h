// Statements that make several contractions at once, or a sum of them, become a statement for each product, which
// contract.h then knows:
//
//   %y, %dy = each(i < %n, j < %m, k < %p) {          %y  = each(…) { … mul %a', %b' } sum [%i, %j] of (%n, %m)
//     …                                         =>    %t  = each(…) { … mul %da', %b' } sum [%i, %j] of (%n, %m)
//     %u = mul %da', %b'                              %dy = each(…) { … mul %a', %db' } sum [%i, %j] of (%n, %m)
//     %v = mul %a', %db'                                      into %t
//     %s = add %u, %v
//   } sum [%i, %j] of (%n, %m): %w, sum [%i, %j] of (%n, %m): %s
//
// Tangents multiply strongly (0 where the tangent is 0); here they multiply as a library does, as contractions do
// in reverse mode.
#pragma once

#include <optional>

#include "core/ir/ir.h"

namespace pullback::loops {

// nullopt: there is no such statement.
std::optional<ir::Function> SplitContractions(const ir::Function& f);

}  // namespace pullback::loops
