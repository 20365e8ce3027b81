// Checks the invariants of the IR; a violation is INTERNAL, reason IR_INVALID, and its message names
// function, block and instruction.
//
// Invariants:
//  1. Every value is defined exactly once, by a block parameter, an instruction, an index variable or
//     a body instruction, and has a type and a place for a name; every use is dominated by its
//     definition (body values are visible in their statement only; unreachable blocks are not allowed).
//  2. Operand and result types obey the op's row in ops.def; `Own` ops: as ir.h says.
//  3. Every block ends in one terminator; edges pass as many arguments, of the same types, as the
//     target has parameters; the entry block has no predecessors.
//  4. A return has the function's result types; a call its callee's parameter and result types; jvp and
//     vjp those of the derivative; wrt names parameters that carry tangents; a function's derivative
//     rules have the signatures of ir.h.
//  5. Affine terms are sorted, merged, i64, in scope. Subscripts match the array's rank.
//  6. Bodies hold only scalar ops, const, affine, holds, dim, index, stop_gradient of scalars, and
//     call, jvp, vjp of functions whose parameters and results are scalars; guards are bools of the same body; ArgMax and ArgMin
//     results are of IsArgForm; the sizes of out and shape agree.
//  7. A tape is used at most once on every path (it is consumed), never by a guard or a body.
//  8. Guards appear in bodies only.
//  9. Records have names of their own; their fields are scalars, arrays, lists or boxes.
#pragma once

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ir {

Status Verify(const Module& module);

}  // namespace pullback::ir
