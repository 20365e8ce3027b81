// Which ops a kScalar node may hold, for the tables of back ends.
#pragma once

#include <array>
#include <cstddef>

#include "core/ir/ir.h"

namespace pullback::loops {

// Ops that never reach a kScalar node with operands: lowered before loops, nodes of their own, or
// constants.
inline constexpr ir::Op kNoScalarOps[] = {
    ir::Op::SMul,         ir::Op::Const,   ir::Op::AffineOf, ir::Op::Holds,    ir::Op::Dim,
    ir::Op::Zeros,        ir::Op::Index,   ir::Op::Update,   ir::Op::AddAt,    ir::Op::Each,
    ir::Op::AddArrays,    ir::Op::Call,    ir::Op::Push,     ir::Op::Pop,      ir::Op::TapeNew,
    ir::Op::Check,        ir::Op::Fit,     ir::Op::ListNew,  ir::Op::ListOf,   ir::Op::ListLen,
    ir::Op::ListGet,      ir::Op::ListSet, ir::Op::ListTake, ir::Op::ListPush, ir::Op::ListPop,
    ir::Op::BoxNew,       ir::Op::BoxGet,  ir::Op::BoxSet,   ir::Op::Jvp,      ir::Op::Vjp,
    ir::Op::StopGradient,
};

// Whether every op has a row (with a member `op`) or stands in kNoScalarOps, and none twice.
template <typename Row, size_t kRows>
constexpr bool CoversEveryOp(const Row (&rows)[kRows]) {
  std::array<int, ir::kOpCount> count{};
  for (const Row& row : rows) ++count[static_cast<size_t>(row.op)];
  for (const ir::Op op : kNoScalarOps) ++count[static_cast<size_t>(op)];
  for (const int n : count) {
    if (n != 1) return false;
  }
  return true;
}

}  // namespace pullback::loops
