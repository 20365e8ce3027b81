#include "core/opt/box_plan.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace pullback::opt {
namespace {

using ir::Function;
using ir::Inst;
using ir::Module;
using ir::Op;
using ir::Type;
using ir::Value;

// The records of boxes that a value of type `t` can lead to.
void AddBoxesIn(const Module& m, Type t, Records& seen, Records& boxes) {
  if (t.IsBox()) boxes.insert(t.record);
  if (!t.HasRecord() || !seen.insert(t.record).second) return;
  for (Type field : m.FieldsOf(t)) AddBoxesIn(m, field, seen, boxes);
}

Records BoxesIn(const Module& m, const std::vector<Type>& types) {
  Records boxes, seen;
  for (Type t : types) AddBoxesIn(m, t, seen, boxes);
  return boxes;
}

Records BoxesInSignature(const Module& m, const Function& f) {
  std::vector<Type> types = f.results;
  for (Value v : f.params()) types.push_back(f.TypeOf(v));
  return BoxesIn(m, types);
}

}  // namespace

bool IsBoxOp(Op op) { return op == Op::BoxNew || op == Op::BoxGet || op == Op::BoxSet; }

Value BoxOf(const Inst& inst) { return inst.op == Op::BoxNew ? inst.results[0] : inst.args[0]; }

bool HasBoxes(const Module& m) {
  for (const auto& f : m.functions) {
    for (const ir::Type t : f->values) {
      if (!BoxesIn(m, {t}).empty()) return true;
    }
  }
  return false;
}

BoxPlan::BoxPlan(const Module& m) : used(m.functions.size()), threaded(m.functions.size()) {
  std::vector<Records> signatures;
  for (const auto& f : m.functions) signatures.push_back(BoxesInSignature(m, *f));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t f = 0; f < used.size(); ++f) {
      Records now = used[f];
      AddUses(m.Get(static_cast<uint32_t>(f)), now);
      if (now.size() == used[f].size()) continue;
      used[f] = now;
      std::set_intersection(now.begin(), now.end(), signatures[f].begin(), signatures[f].end(),
                            std::inserter(threaded[f], threaded[f].end()));
      changed = true;
    }
  }
}

void BoxPlan::AddUses(const Function& f, Records& records) const {
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (IsBoxOp(inst.op)) records.insert(f.TypeOf(BoxOf(inst)).record);
      if (ir::HasCallee(inst.op))
        records.insert(threaded[inst.callee].begin(), threaded[inst.callee].end());
    }
  }
}

Status CheckBoxes(const Module& m, const BoxPlan& plan) {
  if (!BoxesInSignature(m, m.Get(m.entry)).empty())
    return UnimplementedAt("@" + m.Get(m.entry).name + ": a box as an argument or result", 0);
  for (size_t k = 0; k < m.functions.size(); ++k) {
    const Function& f = *m.functions[k];
    bool rule = false;
    for (uint32_t g : {static_cast<uint32_t>(k), f.vjp_rule, f.jvp_rule})
      rule |= f.HasRule() && g != ir::kNoFunction && !plan.threaded[g].empty();
    if (rule)
      return UnimplementedAt("@" + f.name + ": derivative rules of a function with boxes", 0);
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) {
        for (size_t p = 0; p < inst.wrt.size(); ++p) {
          const Function& callee = m.Get(inst.callee);
          if (inst.wrt[p] && !BoxesIn(m, {callee.TypeOf(callee.params()[p])}).empty())
            return UnimplementedAt("@" + callee.name + ": the derivative by a box", inst.loc);
        }
      }
    }
  }
  return {};
}

}  // namespace pullback::opt
