#include "core/ir/known_extents.h"

#include <algorithm>

#include "core/base/tensor.h"

namespace pullback::ir {
namespace {

bool IsOfArrays(Op op, ValueSpan args, const KnownExtents& all) {
  const auto known = [&](size_t k) { return all.of_arrays.contains(args[k]); };
  switch (op) {
    case Op::Min: return known(0) || known(1);
    case Op::Max: return known(0) && known(1);
    case Op::Select: return known(1) && known(2);
    case Op::Sub:
    case Op::Div: return known(0) && all.constants.contains(args[1]);
    default: return false;
  }
}

bool IsArithmetic(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Rem:
    case Op::Neg:
    case Op::Min:
    case Op::Max: return true;
    default: return false;
  }
}

}  // namespace

void KnownExtents::LearnDim(Value result) {
  of_arrays.insert(result);
  made_of_arrays.insert(result);
}

void KnownExtents::Learn(Op op, uint64_t bits, ValueSpan args, Value result) {
  if (op == Op::Const) {
    const auto value = static_cast<int64_t>(bits);
    if (value >= 0 && value <= kMaxExtent) constants.emplace(result, value);
    if (value == 0) of_arrays.insert(result);
    made_of_arrays.insert(result);
    return;
  }
  const auto is_made = [&](Value v) { return made_of_arrays.contains(v); };
  if (IsArithmetic(op) && std::all_of(args.begin(), args.end(), is_made))
    made_of_arrays.insert(result);
  if (IsOfArrays(op, args, *this)) of_arrays.insert(result);
  if (op == Op::Add && turns_.contains(args[0]) && constants.contains(args[1])) {
    turns_.insert(result);
    starts_.insert(result);
  }
  if (op == Op::Max && (IsStart(args[0]) || IsStart(args[1]))) starts_.insert(result);
  if (op == Op::Min) least_[result] = ToVector(args);
  if (op == Op::Sub && constants.contains(args[1])) less_.emplace(result, args[0]);
}

void KnownExtents::LearnAffine(const Affine& a, Value result) {
  const bool made = std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
    return made_of_arrays.contains(t.value);
  });
  if (made) made_of_arrays.insert(result);
}

void KnownExtents::LearnTurn(Value first, Value turn) {
  if (!IsStart(first)) return;
  turns_.insert(turn);
  starts_.insert(turn);
}

bool KnownExtents::IsZero(Value v) const {
  const auto it = constants.find(v);
  return it != constants.end() && it->second == 0;
}

bool KnownExtents::IsWithin(Value v, Value extent) const {
  const auto is_less = [&](Value w) {
    const auto more = less_.find(w);
    return w == extent || (more != less_.end() && more->second == extent);
  };
  const auto of = least_.find(v);
  return is_less(v) ||
         (of != least_.end() && std::any_of(of->second.begin(), of->second.end(), is_less));
}

}  // namespace pullback::ir
