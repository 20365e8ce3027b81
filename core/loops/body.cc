#include "core/loops/body.h"

#include <algorithm>

namespace pullback::loops {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

// Ifs inside each other; deeper ones stand side by side, so that no recursion is deep.
constexpr int kMaxDepth = 16;
// Items that are passed over in search of more for the same If.
constexpr size_t kWindow = 256;

bool IsDivision(const Inst& inst) { return inst.op == Op::Div || inst.op == Op::Rem; }

}  // namespace

// --- planning

void Body::Plan() {
  items_.resize(static_cast<size_t>(c_.space.depth) + 1);
  for (const Inst& inst : c_.each.body) {
    if (inst.op == Op::Const && !inst.guard.valid()) {
      c_.l.SetAlias(inst.results[0], c_.l.e.Const(c_.l.f.TypeOf(inst.results[0]), inst.bits));
      levels_[inst.results[0]] = 0;
      continue;
    }
    Item item = MakeItem(inst);
    const int level = LevelOf(item);
    for (Value v : inst.results) levels_[v] = level;
    AddItem(std::move(item), level);
  }
  for (size_t r = 0; r < c_.each.results.size(); ++r) AddItem(MakeItem(r), c_.space.depth);
}

void Body::AddItem(Item item, int level) {
  std::sort(item.uses.begin(), item.uses.end());
  item.uses.erase(std::unique(item.uses.begin(), item.uses.end()), item.uses.end());
  for (Value v : item.uses) ++uses_[v];
  items_[static_cast<size_t>(level)].push_back(std::move(item));
}

Body::Item Body::MakeItem(const Inst& inst) const {
  Item item;
  item.inst = &inst;
  item.guard = inst.guard;
  ir::ForEachOperand(inst, [&](Value v) {
    if (c_.body_values.count(v) > 0) item.uses.push_back(v);
  });
  return item;
}

Body::Item Body::MakeItem(size_t result) const {
  const ir::EachResult& r = c_.each.results[result];
  Item item;
  item.result = result;
  item.guard = r.guard;
  const auto use = [&](Value v) {
    if (c_.body_values.count(v) > 0) item.uses.push_back(v);
  };
  use(r.value);
  if (r.guard.valid()) use(r.guard);
  if (r.second.valid()) use(r.second);
  for (const Affine& a : r.out) ir::ForEachOperand(a, use);
  return item;
}

int Body::LevelOf(Value v) const {
  if (const auto it = levels_.find(v); it != levels_.end()) return it->second;
  const SpaceIndex* i = c_.space.Find(v);
  return i ? i->level : 0;
}

std::vector<Affine> Body::ExtentForms(Value array) const {
  std::vector<Affine> forms;
  for (int axis = 0; axis < c_.l.f.TypeOf(array).rank; ++axis) {
    forms.push_back(c_.l.sizes.Extent(array, axis));
  }
  return forms;
}

// What may trap stays in the innermost loop: an outer one may run where the inner does not.
int Body::LevelOf(Item& item) {
  const Inst& inst = *item.inst;
  int level = 0;
  ir::ForEachOperand(inst, [&](Value v) { level = std::max(level, LevelOf(v)); });
  if (inst.op == Op::Index) {
    item.access = PlanAccess(c_, inst.subs, ExtentForms(inst.args[0]),
                             c_.l.sizes.FactsOf(inst.guard), !inst.guard.valid());
    UseEarlierChecks(c_, item.access, inst.subs, ExtentForms(inst.args[0]), inst.guard);
    return item.access.IsProven() ? std::max(level, item.access.level) : c_.space.depth;
  }
  if (IsDivision(inst)) return divisions_.StaysInside(inst) ? c_.space.depth : level;
  return ir::MayTrap(inst, c_.l.f) ? c_.space.depth : level;
}

// --- checks before the loops

bool Body::HasChecksBefore() const {
  if (divisions_.HasChecksBefore()) return true;
  for (const Item& item : items_.back()) {
    for (AxisCheck check : item.access.axes) {
      if (check == AxisCheck::kBefore) return true;
    }
  }
  return false;
}

bool Body::TrapsInNest() const {
  return std::any_of(items_.back().begin(), items_.back().end(), [&](const Item& item) {
    if (!item.inst) return false;
    const auto& axes = item.access.axes;
    if (item.inst->op == Op::Index)
      return std::count(axes.begin(), axes.end(), AxisCheck::kHere) > 0;
    if (IsDivision(*item.inst)) return divisions_.ChecksAt(*item.inst);
    return ir::MayTrap(*item.inst, c_.l.f);
  });
}

void Body::EmitChecksBefore() {
  for (const Item& item : items_.back()) {
    if (!item.inst) continue;
    const Inst& inst = *item.inst;
    if (inst.op == Op::Index)
      CheckBefore(c_, item.access, inst.subs, c_.l.Extents(inst.args[0]), inst.loc);
    else
      divisions_.CheckBefore(inst);
  }
}

void Body::LearnChecks() const {
  for (const Item& item : items_.back()) {
    if (!item.inst || item.inst->op != Op::Index) continue;
    loops::LearnChecks(c_, item.access, item.inst->subs, ExtentForms(item.inst->args[0]),
                       item.inst->guard);
  }
}

// --- emission

void Body::EmitLevel(int level, const EmitResult& emit_result) {
  Items items;
  for (const Item& item : items_[static_cast<size_t>(level)]) items.push_back(&item);
  Emit(std::move(items), ir::kNoValue, emit_result);
}

void Body::Emit(Items items, Value guard, const EmitResult& emit_result) {
  while (!items.empty()) {
    EmitReady(items, guard, emit_result);
    if (!items.empty()) EmitGroup(items, guard, emit_result);
  }
}

Body::Items Body::Take(Items& items, const std::function<bool(const Item&)>& wanted) {
  Items taken;
  std::set<Value> waiting;  // defined by what is left behind
  size_t left = 0;
  for (auto it = items.begin(); it != items.end() && left < kWindow;) {
    const Item& item = **it;
    const auto here = it++;
    const bool ready = std::none_of(item.uses.begin(), item.uses.end(),
                                    [&](Value v) { return waiting.count(v) > 0; });
    if (ready && wanted(item)) {
      taken.splice(taken.end(), items, here);
      continue;
    }
    ++left;
    if (item.inst) waiting.insert(item.inst->results.begin(), item.inst->results.end());
  }
  return taken;
}

void Body::EmitReady(Items& items, Value guard, const EmitResult& emit_result) {
  const Items ready = Take(items, [&](const Item& item) {
    return guard.valid() ? c_.l.sizes.Implies(guard, item.guard) : !item.guard.valid();
  });
  for (const Item* item : ready) {
    if (item->inst) {
      EmitInst(*item, guard.valid());
    } else {
      emit_result(item->result);
    }
  }
}

void Body::EmitGroup(Items& items, Value guard, const EmitResult& emit_result) {
  const Value inner = items.front()->guard;
  const Items group = Take(items, [&](const Item& item) {
    return depth_ < kMaxDepth ? c_.l.sizes.Implies(item.guard, inner) : item.guard == inner;
  });
  const std::vector<Value> escaping = Escaping(group);
  Emitter& e = c_.l.e;
  e.OpenIf(c_.l.Of(inner));
  ++depth_;
  Emit(group, inner, emit_result);
  --depth_;
  std::vector<Reg> results;
  for (Value v : escaping) {
    results.push_back(guard.valid() ? e.function().NewReg(e.TypeOf(v), e.function().regs[v.id].name)
                                    : v);
  }
  e.CloseIf(results, c_.l.Of(escaping));
  for (size_t i = 0; i < escaping.size(); ++i) c_.l.SetAlias(escaping[i], results[i]);
}

std::vector<Value> Body::Escaping(const Items& group) const {
  std::map<Value, int> inside;
  for (const Item* item : group) {
    for (Value v : item->uses) ++inside[v];
  }
  std::vector<Value> escaping;
  for (const Item* item : group) {
    if (!item->inst) continue;
    for (Value v : item->inst->results) {
      const auto all = uses_.find(v);
      if (all != uses_.end() && all->second > inside[v]) escaping.push_back(v);
    }
  }
  return escaping;
}

void Body::EmitIndex(const Item& item, Reg into) {
  const Inst& inst = *item.inst;
  const std::vector<Reg> extents = c_.l.Extents(inst.args[0]);
  CheckHere(c_, item.access, inst.subs, extents, inst.loc);
  std::vector<Affine> subs;
  for (const Affine& a : inst.subs) subs.push_back(c_.l.Of(a));
  c_.l.e.Load(c_.l.ReadFrom(inst.args[0]), c_.l.e.Offset(subs, extents), into,
              AboutAccess(c_, item.access, subs));
}

// Under a guard a value's own register is for the If that it leaves; inside it has another.
void Body::EmitInst(const Item& item, bool guarded) {
  const Inst& inst = *item.inst;
  Lowering& l = c_.l;
  ir::Values into = inst.results;
  if (guarded) {
    for (Reg& r : into) r = l.e.function().NewReg(l.e.TypeOf(r), l.e.function().regs[r.id].name);
  }
  switch (inst.op) {
    case Op::Const: into = {l.e.Const(l.e.TypeOf(into[0]), inst.bits)}; break;
    case Op::AffineOf: into = {l.e.Linear(l.Of(inst.subs[0]))}; break;
    case Op::Holds: into = {l.Holds(inst.constraints)}; break;
    case Op::Dim: into = {l.Dim(inst.args[0], static_cast<int>(inst.bits))}; break;
    case Op::Index: EmitIndex(item, into[0]); break;
    case Op::Call: l.Call(inst, into); break;
    case Op::Div:
    case Op::Rem: divisions_.Emit(inst, into[0]); break;
    default: l.Scalar(inst, into[0]); break;
  }
  for (size_t i = 0; i < into.size(); ++i) l.SetAlias(inst.results[i], into[i]);
}

}  // namespace pullback::loops
