// Checks the invariants of the loop IR that back ends rely on without looking: a fault of the lowering is
// INTERNAL (LOOPS_INVALID) with function and block, and no crash. Linear in the size of the function.
//
//  1. Every register is written once: by a block parameter, or a node. Every use comes after that on every
//     path: its block dominates, and the loop or branch that the register is written in is not over. The
//     index of a loop is known in its body only, what an arm of a branch yields in that arm.
//  2. Operands and results of a node, and what an edge and a return pass, have the number and types that
//     loops.h says; jumps and calls go to blocks and functions that are there.
//  3. What a node consumes is a reference that the block still has: an array is not read after its last
//     reference has been given away within a block.
//  4. What a check proves is relied on behind it (Proof), never in front.
#pragma once

#include "core/base/status.h"
#include "core/loops/loops.h"

namespace pullback::loops {

Status Verify(const Module& module);

}  // namespace pullback::loops
