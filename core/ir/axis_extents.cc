#include "core/ir/axis_extents.h"

#include <algorithm>

namespace pullback::ir {

std::vector<std::pair<Value, Value>> CheckedEqual(const Block& block) {
  std::vector<std::pair<Value, Value>> pairs;
  std::map<Value, const Inst*> equal;  // by the value that says so
  for (const Inst& inst : block.insts) {
    if (inst.each) break;
    if (inst.op == Op::Eq) equal[inst.results[0]] = &inst;
    if (inst.op != Op::Check) continue;
    const auto it = equal.find(inst.args[0]);
    if (it != equal.end()) pairs.emplace_back(it->second->args[0], it->second->args[1]);
  }
  return pairs;
}

AxisExtents::AxisExtents(const Function& f) {
  for (const Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::Dim) extents_[{inst.args[0], inst.bits}] = inst.results[0];
      if (!inst.each) continue;
      for (size_t k = 0; k < inst.results.size(); ++k) {
        const Values& shape = inst.each->results[k].shape;
        for (size_t axis = 0; axis < shape.size(); ++axis)
          extents_[{inst.results[k], axis}] = shape[axis];
      }
    }
  }
  for (const auto& [x, y] : CheckedEqual(f.blocks[0])) {
    const Value a = First(x), b = First(y);
    if (a != b) same_as_[std::max(a, b)] = std::min(a, b);
  }
}

Value AxisExtents::Of(Value array, size_t axis) const {
  const auto it = extents_.find({array, axis});
  return it == extents_.end() ? kNoValue : it->second;
}

bool AxisExtents::AreEqual(Value a, Value b) const {
  return a.valid() && b.valid() && First(a) == First(b);
}

Value AxisExtents::First(Value v) const {
  for (auto it = same_as_.find(v); it != same_as_.end(); it = same_as_.find(v)) v = it->second;
  return v;
}

}  // namespace pullback::ir
