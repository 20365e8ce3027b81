// What an operation on scalars weighs, by the time it takes: arithmetic 1, a read of an array three, a division or a
// root four, a function of the math table sixteen. What is kept or computed again, and where, is chosen by it.
#pragma once

#include "core/ir/ir.h"

namespace pullback::ir {

inline int64_t OpWeight(Op op) {
  if (op == Op::Index) return 3;
  if (op == Op::Div || op == Op::Rem || op == Op::Sqrt) return 4;
  return (Info(op).flags & kLibm) ? 16 : 1;
}

// A function of the math table, or a call: evaluated no more often than needed.
inline bool IsDear(const Inst& inst) {
  return inst.op == Op::Call || (Info(inst.op).flags & kLibm) != 0;
}

}  // namespace pullback::ir
