// Loops that reverse mode runs with a given number of snapshots.
#pragma once

#include "core/ir/ir.h"

namespace pullback::ir {

// `step` is the body of a counted loop: (state…, captured…, i: i64) -> state…, where the first parameters
// have the types of the results. Adds and returns a function
//   (state…, captured…, begin: i64, end: i64, snapshots: i64) -> state…
// that runs it for i = begin … end - 1: the plain loop. Its derivatives are the plain loop's, bit for bit.
//
// Reverse mode keeps at most `snapshots` states of it at a time and runs steps again from those, each the
// least number of times there is for so many snapshots (binomial checkpointing: Griewank and Walther,
// Revolve, 2000). With `snapshots` <= 0 nothing is run again.
//
// To do so it differentiates another function in the loop's place, the schedule, of the same type and the
// same values: parts of the steps, each a checkpointed call of the loop that keeps the state it starts from,
// with one snapshot less for each next part. Reversed, a part has all snapshots that it began with. With s
// snapshots r runs of each step reach C(s + r, s) steps.
uint32_t AddCheckpointedLoop(Module& module, uint32_t step);

// The function that reverse mode differentiates in the place of `f`, kNoFunction for any other function: a
// vjp rule that has the type of f itself.
uint32_t ScheduleOf(const Module& module, uint32_t f);

}  // namespace pullback::ir
