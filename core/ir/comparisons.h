// The six comparisons: what they say, and what they are turned round. Op::Eq to Op::Ge alone have
// answers here.
#pragma once

#include <optional>

#include "core/ir/ir.h"

namespace pullback::ir {

// Of floats as IEEE says: NaN compares false except ne.
template <typename T>
std::optional<bool> Compare(Op op, T a, T b) {
  switch (op) {
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    default: return std::nullopt;
  }
}

// b ? a for a ? b.
inline std::optional<Op> Mirrored(Op op) {
  switch (op) {
    case Op::Eq: return Op::Eq;
    case Op::Ne: return Op::Ne;
    case Op::Lt: return Op::Gt;
    case Op::Le: return Op::Ge;
    case Op::Gt: return Op::Lt;
    case Op::Ge: return Op::Le;
    default: return std::nullopt;
  }
}

// not (a ? b), of integers and bools; of floats NaN is in the way.
inline std::optional<Op> Negated(Op op) {
  switch (op) {
    case Op::Eq: return Op::Ne;
    case Op::Ne: return Op::Eq;
    case Op::Lt: return Op::Ge;
    case Op::Le: return Op::Gt;
    case Op::Gt: return Op::Le;
    case Op::Ge: return Op::Lt;
    default: return std::nullopt;
  }
}

}  // namespace pullback::ir
