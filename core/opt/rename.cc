#include "core/opt/rename.h"

namespace pullback::opt {

ir::Value Renaming::Follow(ir::Value v) const {
  const auto next = [&](ir::Value x) { return x.id < to_.size() ? to_[x.id] : ir::kNoValue; };
  for (ir::Value to = next(v); to.valid(); to = next(v)) {
    const ir::Value beyond = next(to);
    if (beyond.valid()) to_[v.id] = beyond;
    v = to;
  }
  return v;
}

void Renaming::Apply(ir::Inst& inst) const {
  if (!any_) return;
  bool changed = false;
  ir::ForEachOperand(inst, [&](ir::Value& v) {
    const ir::Value to = Get(v);
    changed |= to != v;
    v = to;
  });
  if (changed) ir::CanonicaliseAffines(inst);
}

void Renaming::Apply(ir::Terminator& term) const {
  ir::ForEachTermOperand(term, [&](ir::Value& v) { v = Get(v); });
}

void Renaming::Apply(ir::Function& f) const {
  if (!any_) return;
  for (ir::Block& b : f.blocks) {
    for (ir::Inst& inst : b.insts) Apply(inst);
    Apply(b.term);
  }
}

}  // namespace pullback::opt
