#include "core/lang/lower_varying.h"

#include <algorithm>

#include "core/lang/lower_array.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

// Locals that something inside the expression binds or defines.
std::unordered_set<uint32_t> BoundIn(const Expr& e) {
  std::unordered_set<uint32_t> bound;
  const auto add_lets = [&](const Block& block) {
    for (const StmtPtr& s : block.stmts) {
      for (const Target& t : s->targets) bound.insert(t.local);
    }
  };
  ForEachExpr(e, [&](const Expr& part) {
    for (const Binder& b : part.binders) bound.insert(b.local);
    if (part.kind == Expr::Kind::kComprehension && !part.operands.empty()) bound.insert(part.local);
    add_lets(part.body);
    for (const CondArm& arm : part.arms) add_lets(arm.body);
  });
  return bound;
}

}  // namespace

bool VaryingIndices::Add(const Expr& e) {
  const std::unordered_set<uint32_t> bound = BoundIn(e);
  bool known = true;
  ForEachExpr(e, [&](const Expr& part) {
    if (part.kind != Expr::Kind::kName || part.local == UINT32_MAX) return;
    if (bound.contains(part.local) || !names_.insert(part.local).second) return;
    known &= AddName(part.local);
  });
  return known;
}

bool VaryingIndices::AddName(uint32_t local) {
  if (const auto text = c_.at->texts.find(local); text != c_.at->texts.end())
    return Add(*text->second);
  const Leaves& leaves = c_.at->locals[local];
  return std::all_of(leaves.begin(), leaves.end(), [&](const Leaf& leaf) {
    if (leaf.value.valid()) AddValue(leaf.value);
    if (!leaf.array) return true;
    for (const Axis& axis : leaf.array->axes) {
      for (const Affine::Term& t : axis.offset.terms) AddValue(t.value);
    }
    return leaf.array->base.valid();
  });
}

// What the frames do not define is an index, or stands for one.
void VaryingIndices::AddValue(Value v) {
  if (c_.OwnerOf(v) == 0 || !values_.insert(v.id).second) return;
  for (const auto& frame : c_.frames) {
    for (const ir::Inst& inst : frame->body) {
      if (std::find(inst.results.begin(), inst.results.end(), v) == inst.results.end()) continue;
      return ir::ForEachOperand(inst, [&](Value operand) { AddValue(operand); });
    }
  }
  indices_.insert(v);
}

}  // namespace pullback::lang
