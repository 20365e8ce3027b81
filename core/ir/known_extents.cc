#include "core/ir/known_extents.h"

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

}  // namespace

void KnownExtents::Learn(Op op, uint64_t bits, ValueSpan args, Value result) {
  if (op != Op::Const) {
    if (IsOfArrays(op, args, *this)) of_arrays.insert(result);
    return;
  }
  const auto value = static_cast<int64_t>(bits);
  if (value < 0 || value > kMaxExtent) return;
  constants.insert(result);
  if (value != 0) return;
  zeros.insert(result);
  of_arrays.insert(result);
}

}  // namespace pullback::ir
