// The IR as text. ParseModule(Print(m)) is m again, up to the numbering of values and the placing of
// constants; printing that once more gives the same text. A constant prints inline where it is used
// (`mul %x, 2.0`) and parses to an instruction in front of each use, unless an affine form reads it.
//
//     record Node { value: [*]f64, children: list<Node> }
//     entry @pow.grad
//
//     fn @pow.grad(%x: f64, %n: i64) -> (f64, f64) {
//     b0:                                    # its parameters are the function's
//       jump b1(1.0, %n)
//     b1(%r: f64, %k: i64):
//       %c = gt %k, 0
//       br %c, b2, b3(%r)
//       ...
//       %z = zeros %n, %m : f64              # the element's type
//       %d = dim %a, 0
//       %u = update %a[%i], %v !3            # trap ordinal
//       %h = holds (%i < %n and 2*%i == %j)
//       check %h, index, %i, %n !4
//       %t2, %x2 = pop %t : f64
//       %y, %s = each(i < %n, j < %m, k < %p) where (%i <= %k) {
//         %v = index %a[%i + 2*%j - 1] if %g !12      # guard
//       } gen [%i, %j] of (%n, %m): %v, sum []: %w if %g
//
// The parser also takes `;` between instructions, any word for a block, `%i` for `i` in the head of
// a statement, `br gt(%k, 0), ...` (a scalar operation as an operand: an instruction in front) and
// comments from `#` to the end of the line.
// Float constants print so that they read back to the same bits (shortest decimal; nan, inf, and
// nan payloads as 0x bits); f32 constants end in `f`.
#pragma once

#include <string>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

std::string Print(const Module& module);
std::string Print(const Record& record, const Module& module);  // a line
std::string Print(const Function& function, const Module& module);

// Parts of a statement of `function` as its text has them: "[%i, %j + 1]", "%i < %n and %j == 0".
std::string PrintSubscripts(const Function& function, AffineSpan subscripts);
std::string PrintConstraints(const Function& function, ConstraintSpan constraints);

}  // namespace pullback::ir
