// Loops that reverse mode runs with a given number of snapshots.
#pragma once

#include "core/ir/ir.h"

namespace pullback::ir {

// `step` is the body of a counted loop: (state…, captured…, i: i64) -> state…, where the first parameters
// have the types of the results. Adds and returns a function
//   (state…, captured…, begin: i64, end: i64, snapshots: i64) -> state…
// that runs it for i = begin … end - 1. Its value is that of the plain loop, bit for bit.
//
// Reverse mode keeps at most `snapshots` states of it at a time and runs steps again from those, each the
// least number of times there is for so many snapshots (binomial checkpointing: Griewank and Walther,
// Revolve, 2000). With `snapshots` <= 0 nothing is run again: the plain loop.
//
// It is a recursion over checkpointed calls. The first part of the steps is a checkpointed call, which
// keeps the state that it starts from; the rest goes on with one snapshot less; in the reverse the
// first part has all snapshots again. With s snapshots r runs of each step reach C(s + r, s) steps.
uint32_t AddCheckpointedLoop(Module& module, uint32_t step);

}  // namespace pullback::ir
