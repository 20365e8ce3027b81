// Arrays that are made and read row by row hold one row. Loops over the rows that make an array and loops that read
// it, each turn of its own row, become one loop where nothing in between needs them apart; the array, whose rows are
// then over at the end of their turn, has the shape of one:
//
//   %a = alloc f64 [%n, %m]
//   for %i in 0..%n { for %j in 0..%m { %a[%i * %m + %j] = … } }
//   for %k in 0..%n { for %j in 0..%m { … %a[%k * %m + %j] … } }
//
//   %a = alloc f64 [%m]
//   for %i in 0..%n { for %j in 0..%m { %a[%j] = … }  for %j in 0..%m { … %a[%j] … } }
//
// An array of one axis, which may be longer than any of the program's, becomes one element in the same way, or the value
// that each turn stores; where its loops are better apart they run strip by strip (strip_loops.h). (Shorter arrays stay:
// back ends run loops over them several turns at once.)
//
// Every value is computed as before, and every sum adds in its order. (Loop fusion for array contraction: Gao, Olsen,
// Sarkar and Thekkath, 1992.) Without it the derivative of a product or scan inside another index keeps all its partial
// products.
#pragma once

#include <map>

#include "core/loops/loops.h"

namespace pullback::loops {

// By the index of a loop, arrays all of whose accesses are in it, each turn's to what the same turn has stored, with the
// extent of the first axis of what a turn has.
using RowsOfTurns = std::map<Reg, std::map<Reg, Reg>>;

RowsOfTurns FuseRows(Function& f);

}  // namespace pullback::loops
