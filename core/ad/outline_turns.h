// Loops whose turns have to do with one another by what they add up or store alone, as calls of which nothing is kept.
#pragma once

#include "core/ad/mixed.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// `f` with such a loop's turns as checkpointed calls: a turn is run again where it is reversed, and its tape is over with
// it. So the gradient of n rows with loops of their own keeps one row and not n:
//
//   b1(%i, %s): br lt(%i, %n), b2, b9        b1(%i, %s): br lt(%i, %n), b2, b9
//   b2: …                                    b2: %t = call checkpoint @turn(…, %i)  jump b3(%t)
//   b8: … %t  %r = add %s, %t                b3(%t): %r = add %s, %t
//       jump b1(add(%i, 1), %r)                  jump b1(add(%i, 1), %r)
//
// For loops that make arrays, and do no more work there than the arrays have elements: of what takes more, such as a product
// of a matrix and a vector, the tape keeps the results. kRecomputed: always; kCached: never; kAuto: where a run would keep
// much, which it decides by its sizes, those that data say for each turn included. Values and derivatives
// have the same bits. `f` itself where there is no such loop.
uint32_t OutlineTurns(ir::Module& module, uint32_t f, Mixed mixed);

}  // namespace pullback::ad
