// The IR as text. ParseModule(Print(m)) is m again, up to the numbering of values; printing that
// once more gives the same text. Constants print inline where they are used (`mul %x, 2.0`).
//
//     entry @pow.grad
//     fn @pow.grad(%x: f64, %n: i64) -> (f64, f64) {
//     b0(%x: f64, %n: i64):                  # header parameters are printed in the fn line only
//       jump b1(1.0, %n)
//     b1(%r: f64, %k: i64):
//       br gt(%k, 0), b2, b3(%r)             # a compare used once by the branch may print inline
//       ...
//       %y = each(i < %n, j < %m, k < %p) where (%i <= %k) {   ... one instruction a line ...
//            } gen [%i, %j] of (%n, %m): %v, sum []: %w if %g
//       %v = index %a[%i + 2*%j - 1] if %g !12        # guard and trap ordinal
// Float constants print so that they read back to the same bits (shortest decimal; nan, inf, and
// nan payloads as 0x bits); f32 constants end in `f`.
#pragma once

#include <string>

#include "core/ir/ir.h"

namespace pullback::ir {

std::string Print(const Module& module);
std::string Print(const Function& function, const Module& module);

}  // namespace pullback::ir
