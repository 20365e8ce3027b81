// What only differentiation reads goes after the last derivation.
#include "core/opt/rename.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;

// A guarded one is 0 where its guard is false, as the select is.
void RemoveStops(ir::Function& f, std::vector<Inst>& list, Renaming& renaming) {
  for (Inst& inst : list) {
    inst.checkpoint = false;
    if (inst.each) RemoveStops(f, inst.each->body, renaming);
    if (inst.op == Op::StopGradient && !inst.guard.valid())
      renaming.Set(inst.results[0], inst.args[0]);
  }
  std::erase_if(
      list, [](const Inst& inst) { return inst.op == Op::StopGradient && !inst.guard.valid(); });
}

// A cast to the type it has is the value itself, under its guard.
void KeepGuarded(std::vector<Inst>& list) {
  for (Inst& inst : list) {
    if (inst.each) KeepGuarded(inst.each->body);
    if (inst.op == Op::StopGradient) inst.op = Op::Cast;
  }
}

}  // namespace

bool HasBarriers(const ir::Module& module) {
  for (const auto& f : module.functions) {
    if (f->HasRule()) return true;
    for (const ir::Block& b : f->blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.checkpoint) return true;
      }
    }
  }
  return false;
}

Status RemoveMarkers(ir::Module& module) {
  for (auto& f : module.functions) {
    f->vjp_rule = f->jvp_rule = ir::kNoFunction;
    Renaming renaming(*f);
    for (ir::Block& b : f->blocks) {
      RemoveStops(*f, b.insts, renaming);
      b.term.snapshots = ir::kNoValue;
    }
    renaming.Apply(*f);
    for (ir::Block& b : f->blocks) KeepGuarded(b.insts);
  }
  return {};
}

}  // namespace pullback::opt
