#include "core/tensor/narrow_arrays.h"

namespace pullback::tensor {

using ir::Inst;
using ir::Value;

void NarrowArrays::Narrow(Inst& inst, size_t k, size_t axis) {
  const Value array = inst.results[k];
  inst.results[k] = f_.NewLike(f_, array);
  Narrow(array, axis);
}

void NarrowArrays::Narrow(Value array, size_t axis) {
  axes_[array.id] = axis;
  const ir::Type t = f_.TypeOf(array);
  f_.values[array.id] = ir::Type::Array(t.elem, t.rank - 1);
}

bool NarrowArrays::Finish() {
  if (axes_.empty()) return false;
  for (ir::Block& b : f_.blocks) {
    for (Inst& inst : b.insts) {
      if (!inst.each) continue;
      for (Inst& read : inst.each->body) {
        if (read.op != ir::Op::Index) continue;
        const auto it = axes_.find(read.args[0].id);
        if (it == axes_.end()) continue;
        ir::Affines subs(read.subs.begin(), read.subs.end());
        Erase(subs, it->second);
        read.subs = ir::AffineSpan(subs);
      }
    }
  }
  return true;
}

}  // namespace pullback::tensor
