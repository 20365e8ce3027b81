#include "core/tensor/reduced_indices.h"

#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Inst;
using ir::Value;

namespace {

// Whether `holds` is true of all that the instruction reads but its guard.
template <typename Holds>
bool AllOperands(const Inst& inst, Holds holds) {
  bool all = true;
  ir::ForEachOperand(inst, [&](const Value& v) { all = all && (&v == &inst.guard || holds(v)); });
  return all;
}

}  // namespace

ReducedIndices::ReducedIndices(const ir::Each& each) : each_(each) {
  for (size_t k = each.results[0].out.size(); k < each.indices.size(); ++k)
    reached_.insert(each.indices[k].var);
  for (const Inst& inst : each.body) {
    bool reached = false;
    ir::ForEachOperand(inst, [&](Value v) { reached |= Reach(v); });
    if (reached) reached_.insert(inst.results.begin(), inst.results.end());
    for (Value v : inst.results) definitions_[v] = &inst;
  }
}

const Inst* ReducedIndices::DefinitionOf(Value v) const {
  const auto it = definitions_.find(v);
  return it == definitions_.end() ? nullptr : it->second;
}

bool ReducedIndices::OnlyGuard(const Inst& inst) {
  const auto [it, is_new] = only_guard_.try_emplace(inst.results[0], false);
  if (is_new && Reach(inst.guard))
    it->second = AllOperands(inst, [&](Value v) { return IsSameUnder(inst.guard, v); });
  return it->second;
}

// What an instruction under `guard` reads as v is one value for all of the indices. Where v has a guard of its own,
// that holds wherever `guard` does, or for all of the indices that `guard` leaves or none: else some would see v's
// value and others 0.
bool ReducedIndices::IsSameUnder(Value guard, Value v) {
  if (!Reach(v)) return true;
  const Inst* def = DefinitionOf(v);
  if (!def || !OnlyGuard(*def)) return false;
  return ConditionsOf(guard).contains(def->guard) ||
         (ConditionsOf(def->guard).contains(guard) && IsFixedBy(guard, def->guard));
}

// Whether v is one value for all indices for which `guard` holds.
bool ReducedIndices::IsFixedBy(Value guard, Value v) {
  if (!Reach(v) || ConditionsOf(guard).contains(v)) return true;
  const auto [it, is_new] = fixed_.try_emplace({guard, v}, false);
  if (is_new) it->second = ComputeIsFixedBy(guard, v);
  return it->second;
}

bool ReducedIndices::ComputeIsFixedBy(Value guard, Value v) {
  const Inst* def = DefinitionOf(v);
  if (!def || (def->guard.valid() && !IsFixedBy(guard, def->guard))) return false;
  return AllOperands(*def, [&](Value operand) { return IsFixedBy(guard, operand); });
}

const std::set<Value>& ReducedIndices::ConditionsOf(Value guard) {
  const auto [it, is_new] = conditions_.try_emplace(guard);
  if (is_new) it->second = tensor::ConditionsOf(each_, guard);
  return it->second;
}

}  // namespace pullback::tensor
