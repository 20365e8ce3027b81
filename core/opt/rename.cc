#include "core/opt/rename.h"

namespace pullback::opt {

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
