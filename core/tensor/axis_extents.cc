#include "core/tensor/axis_extents.h"

#include <algorithm>

namespace pullback::tensor {

std::vector<std::pair<ir::Value, ir::Value>> CheckedEqual(const ir::Block& block) {
  std::vector<std::pair<ir::Value, ir::Value>> pairs;
  std::map<ir::Value, const ir::Inst*> equal;  // by the value that says so
  for (const ir::Inst& inst : block.insts) {
    if (inst.each) break;
    if (inst.op == ir::Op::Eq) equal[inst.results[0]] = &inst;
    if (inst.op != ir::Op::Check) continue;
    const auto it = equal.find(inst.args[0]);
    if (it != equal.end()) pairs.emplace_back(it->second->args[0], it->second->args[1]);
  }
  return pairs;
}

AxisExtents::AxisExtents(const ir::Function& f) {
  for (const ir::Block& b : f.blocks) {
    for (const ir::Inst& inst : b.insts) {
      if (inst.op == ir::Op::Dim) extents_[{inst.args[0], inst.bits}] = inst.results[0];
      if (!inst.each) continue;
      for (size_t k = 0; k < inst.results.size(); ++k) {
        const ir::Values& shape = inst.each->results[k].shape;
        for (size_t axis = 0; axis < shape.size(); ++axis)
          extents_[{inst.results[k], axis}] = shape[axis];
      }
    }
  }
  for (const auto& [x, y] : CheckedEqual(f.blocks[0])) {
    const ir::Value a = Root(x), b = Root(y);
    if (a != b) same_as_[std::max(a, b)] = std::min(a, b);
  }
}

ir::Value AxisExtents::Of(ir::Value array, size_t axis) const {
  const auto it = extents_.find({array, axis});
  return it == extents_.end() ? ir::kNoValue : it->second;
}

bool AxisExtents::AreEqual(ir::Value a, ir::Value b) const {
  return a.valid() && b.valid() && Root(a) == Root(b);
}

ir::Value AxisExtents::Root(ir::Value v) const {
  for (auto it = same_as_.find(v); it != same_as_.end(); it = same_as_.find(v)) v = it->second;
  return v;
}

}  // namespace pullback::tensor
