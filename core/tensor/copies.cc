#include "core/tensor/copies.h"

#include <algorithm>

#include "core/tensor/statement_edit.h"
#include "core/tensor/tensor_ssa.h"

namespace pullback::tensor {

using ir::Inst;
using ir::Op;
using ir::Value;

void Extents::Learn(const Inst& inst) {
  if (inst.op == Op::Dim) of_[{inst.args[0].id, inst.bits}] = inst.results[0];
  if (inst.op == Op::Zeros) SetAll(inst.results[0], inst.args);
  if (inst.op == Op::Eq) compared_[inst.results[0].id] = {inst.args[0], inst.args[1]};
  if (inst.op == Op::Check) {
    const auto it = compared_.find(inst.args[0].id);
    if (it != compared_.end()) same_[Root(it->second.second).id] = Root(it->second.first);
  }
  if (!inst.each) return;
  for (size_t r = 0; r < inst.results.size(); ++r)
    SetAll(inst.results[r], inst.each->results[r].shape);
}

bool Extents::Has(Value array, size_t axis, Value extent) const {
  const auto it = of_.find({array.id, axis});
  return it != of_.end() && Root(it->second) == Root(extent);
}

Value Extents::Root(Value v) const {
  const auto it = same_.find(v.id);
  return it == same_.end() || it->second == v ? v : Root(it->second);
}

void Extents::SetAll(Value array, ir::ValueSpan shape) {
  for (size_t k = 0; k < shape.size(); ++k) of_[{array.id, k}] = shape[k];
}

// The array that the statement is a copy of.
Value CopiedArray(const Inst& inst, const Extents& extents) {
  if (!inst.each || inst.each->results.size() != 1 || !inst.each->where.empty())
    return ir::kNoValue;
  const ir::Each& each = *inst.each;
  const ir::EachResult& r = each.results[0];
  if (r.monoid != ir::Monoid::kGen || r.guard.valid() || each.body.size() != 1) return ir::kNoValue;
  const Inst& read = each.body[0];
  if (read.op != Op::Index || read.guard.valid() || read.results[0] != r.value) return ir::kNoValue;
  if (ir::AffineSpan(read.subs) != ir::AffineSpan(r.out) || read.subs.size() != each.indices.size())
    return ir::kNoValue;
  std::vector<Value> seen;
  for (size_t k = 0; k < read.subs.size(); ++k) {
    const Value at = read.subs[k].AsValue();
    const auto index = std::find_if(each.indices.begin(), each.indices.end(),
                                    [&](const ir::IndexVar& i) { return i.var == at; });
    const bool fresh = std::find(seen.begin(), seen.end(), at) == seen.end();
    if (index == each.indices.end() || !fresh || index->extent != r.shape[k]) return ir::kNoValue;
    if (!extents.Has(read.args[0], k, r.shape[k])) return ir::kNoValue;
    seen.push_back(at);
  }
  return read.args[0];
}

void RemoveCopies(ir::Function& f) {
  std::unordered_map<uint32_t, Value> originals;
  for (ir::Block& b : f.blocks) {
    Extents extents;
    std::erase_if(b.insts, [&](Inst& inst) {
      ReplaceValues(inst, originals);
      extents.Learn(inst);
      const Value original = CopiedArray(inst, extents);
      if (original.valid()) originals[inst.results[0].id] = original;
      return original.valid();
    });
  }
  ReplaceValues(f, originals);
}

}  // namespace pullback::tensor
