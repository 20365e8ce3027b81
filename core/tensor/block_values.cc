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
  const auto value = places_.find(v.id), here = places_.find(inst.results[0].id);
  if (value == places_.end()) return false;
  const Place &from = value->second, &to = here->second;
  return from.block == to.block ? from.at < to.at : from.block == 0;
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
