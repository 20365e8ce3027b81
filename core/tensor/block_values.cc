#include "core/tensor/block_values.h"

#include <algorithm>

namespace pullback::tensor {

using ir::Inst;
using ir::Value;

BlockValues::BlockValues(const ir::Function& f) : f_(f) {
  for (uint32_t k = 0; k < f.blocks.size(); ++k) {
    for (Value v : f.blocks[k].params) places_[v.id] = {k, 0};
    for (size_t at = 0; at < f.blocks[k].insts.size(); ++at) {
      const Inst& inst = f.blocks[k].insts[at];
      for (Value v : inst.results) places_[v.id] = {k, at + 1};
      if (inst.each && !inst.results.empty()) statements_[inst.each.get()] = &inst;
      if (inst.op == ir::Op::Dim) dims_[inst.args[0].id].push_back(&inst);
      const Inst* checked = inst.op == ir::Op::Check ? DefOf(inst.args[0]) : nullptr;
      if (!checked || checked->op != ir::Op::Eq) continue;
      const Value a = checked->args[0], b = checked->args[1];
      equal_[a.id].push_back({b, {k, at + 1}});
      equal_[b.id].push_back({a, {k, at + 1}});
    }
  }
}

const Inst* BlockValues::DefOf(Value v) const {
  const auto place = places_.find(v.id);
  if (place == places_.end() || place->second.at == 0) return nullptr;
  return &f_.blocks[place->second.block].insts[place->second.at - 1];
}

const Inst* BlockValues::StatementOf(const ir::Each& each) const {
  const auto it = statements_.find(&each);
  return it == statements_.end() ? nullptr : it->second;
}

bool BlockValues::IsThere(Value v, const Inst& inst) const {
  const auto value = places_.find(v.id);
  return value != places_.end() && IsInFront(value->second, inst);
}

bool BlockValues::IsInFront(const Place& place, const Inst& inst) const {
  const Place to = PlaceOf(inst.results[0]);
  return place.block == to.block ? place.at < to.at : place.block == 0;
}

bool BlockValues::HasExtent(Value array, size_t axis, Value extent, const Inst& before) const {
  if (HasExtent(array, axis, extent)) return true;
  const auto dims = dims_.find(array.id);
  return dims != dims_.end() &&
         std::any_of(dims->second.begin(), dims->second.end(), [&](const Inst* dim) {
           const auto equal = equal_.find(dim->results[0].id);
           return dim->bits == axis && equal != equal_.end() &&
                  std::any_of(equal->second.begin(), equal->second.end(), [&](const Equal& e) {
                    return e.other == extent && IsInFront(e.check, before);
                  });
         });
}

bool BlockValues::HasExtent(Value array, size_t axis, Value extent) const {
  const Inst* dim = DefOf(extent);
  if (dim && dim->op == ir::Op::Dim && dim->args[0] == array && dim->bits == axis) return true;
  const Inst* made = DefOf(array);
  if (!made || !made->each) return false;
  const auto result = std::find(made->results.begin(), made->results.end(), array);
  return made->each->results[static_cast<size_t>(result - made->results.begin())].shape[axis] ==
         extent;
}

}  // namespace pullback::tensor
