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

bool ChecksHere(const Access& access) {
  return std::find(access.axes.begin(), access.axes.end(), AxisCheck::kHere) != access.axes.end();
}

}  // namespace

// --- planning

void Body::Plan() {
  items_.resize(static_cast<size_t>(c_.space.depth) + 1);
  for (const Inst& inst : c_.each.body) {
    if (inst.op == Op::Const && !inst.guard.valid()) {
      c_.l.SetAlias(inst.results[0], c_.l.e.Const(c_.l.f.TypeOf(inst.results[0]), inst.bits));
      levels_[inst.results[0]] = 0;
    } else if (inst.op == Op::Index) {
      AddIndex(MakeItem(inst));
    } else {
      Item item = MakeItem(inst);
      const bool divides = IsDivision(inst);
      const bool stays = divides ? divisions_.StaysInside(inst) : ir::MayTrap(inst, c_.l.f);
      const int level = stays ? c_.space.depth : LevelOf(item);
      item.traps = divides ? divisions_.ChecksAt(inst) : stays;
      if (item.traps) LevelOfTrap(level);
      AddItem(std::move(item), level);
    }
  }
  for (size_t r = 0; r < c_.each.results.size(); ++r) AddItem(MakeItem(r), c_.space.depth);
}

void Body::AddItem(Item item, int level) {
  std::sort(item.uses.begin(), item.uses.end());
  item.uses.erase(std::unique(item.uses.begin(), item.uses.end()), item.uses.end());
  for (Value v : item.uses) ++uses_[v];
  if (item.inst && !item.axis) {
    for (Value v : item.inst->results) levels_[v] = level;
  }
  items_[static_cast<size_t>(level)].push_back(&all_.emplace_back(std::move(item)));
}

// What may trap stays in the innermost loop, since an outer one may run where the inner does not; but for integers, and
// checks of subscripts.
void Body::AddIndex(Item item) {
  const Inst& inst = *item.inst;
  item.access = PlanAccess(c_, inst.subs, ExtentForms(inst.args[0]), c_.l.sizes.FactsOf(inst.guard),
                           !inst.guard.valid());
  UseEarlierChecks(c_, item.access, inst.subs, ExtentForms(inst.args[0]), inst.guard);
  int level = std::max(LevelOf(item), item.access.level);
  if (!item.access.IsProven()) {
    const bool moves = !inst.guard.valid() && c_.space.IsBox();
    const bool integer = c_.l.f.TypeOf(inst.results[0]).elem == DType::kI64;
    if (moves && !integer) CheckOutside(item);
    if (!moves || !integer) level = c_.space.depth;
    item.traps = ChecksHere(item.access);
    if (item.traps) level = LevelOfTrap(level);
    if (level < c_.space.depth) item.guard = SomeInside(level);
  }
  AddItem(std::move(item), level);
}

// The checks of subscripts that outer loops know.
void Body::CheckOutside(Item& read) {
  const Inst& inst = *read.inst;
  for (size_t axis = 0; axis < inst.subs.size(); ++axis) {
    if (read.access.axes[axis] != AxisCheck::kHere) continue;
    const int level = LevelOfTrap(LevelOf(inst.subs[axis]));
    if (level == c_.space.depth) return;
    read.access.axes[axis] = AxisCheck::kOutside;
    Item check;
    check.inst = &inst;
    check.axis = axis;
    check.traps = true;
    check.access = read.access;
    check.guard = SomeInside(level);
    ir::ForEachOperand(inst.subs[axis], [&](Value v) {
      if (c_.body_values.count(v) > 0) check.uses.push_back(v);
    });
    AddItem(std::move(check), level);
  }
}

// Of what may trap where `known` loops are open: traps come in the order of the text.
int Body::LevelOfTrap(int known) { return trap_level_ = std::max(trap_level_, known); }

// Not valid: they have.
Value Body::SomeInside(int level) {
  const auto [it, fresh] = some_.try_emplace(level);
  if (!fresh) return it->second;
  const auto inside = [level](const SpaceIndex& i) { return i.level > level; };
  const bool known =
      std::all_of(c_.space.indices.begin(), c_.space.indices.end(), [&](const SpaceIndex& i) {
        return !inside(i) || c_.l.e.AsI64(c_.l.Of(i.extent)).value_or(0) > 0;
      });
  if (!known) it->second = c_.l.e.function().NewReg(ir::Type::Bool(), "");
  return it->second;
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

int Body::LevelOf(const Affine& a) const {
  int level = 0;
  ir::ForEachOperand(a, [&](Value v) { level = std::max(level, LevelOf(v)); });
  return level;
}

int Body::LevelOf(const Item& item) const {
  int level = 0;
  ir::ForEachOperand(*item.inst, [&](Value v) { level = std::max(level, LevelOf(v)); });
  return level;
}

// --- checks before the loops

bool Body::HasChecksBefore() const {
  if (divisions_.HasChecksBefore()) return true;
  return std::any_of(all_.begin(), all_.end(), [](const Item& item) {
    const auto& axes = item.access.axes;
    return !item.axis && std::count(axes.begin(), axes.end(), AxisCheck::kBefore) > 0;
  });
}

bool Body::TrapsInNest() const {
  return std::any_of(all_.begin(), all_.end(), [](const Item& item) { return item.traps; });
}

void Body::EmitChecksBefore() {
  for (const Item& item : all_) {
    if (!item.inst || item.axis) continue;
    const Inst& inst = *item.inst;
    if (inst.op == Op::Index)
      CheckBefore(c_, item.access, inst.subs, c_.l.Extents(inst.args[0]), inst.loc);
    else
      divisions_.CheckBefore(inst);
  }
}

void Body::LearnChecks() const {
  for (const Item& item : all_) {
    if (!item.inst || item.axis || item.inst->op != Op::Index) continue;
    loops::LearnChecks(c_, item.access, item.inst->subs, ExtentForms(item.inst->args[0]),
                       item.inst->guard);
  }
}

void Body::Begin() {
  Emitter& e = c_.l.e;
  for (const auto& [level, some] : some_) {
    if (!some.valid()) continue;
    Reg all = ir::kNoValue;
    for (const SpaceIndex& i : c_.space.indices) {
      if (i.level > level) all = e.And(all, e.Compare(Op::Gt, c_.l.Of(i.extent), e.I64(0)));
    }
    conditions_[some] = all;
  }
}

// --- emission

void Body::EmitLevel(int level, const EmitResult& emit_result) {
  Emit(items_[static_cast<size_t>(level)], level > held_level_ ? held_ : ir::kNoValue, emit_result);
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
  bool trap_waits = false;
  size_t left = 0;
  for (auto it = items.begin(); it != items.end() && left < kWindow;) {
    const Item& item = **it;
    const auto here = it++;
    const bool ready =
        !(trap_waits && item.traps) && std::none_of(item.uses.begin(), item.uses.end(),
                                                    [&](Value v) { return waiting.count(v) > 0; });
    if (ready && wanted(item)) {
      taken.splice(taken.end(), items, here);
      continue;
    }
    ++left;
    trap_waits |= item.traps;
    if (item.inst && !item.axis)
      waiting.insert(item.inst->results.begin(), item.inst->results.end());
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
  const auto some = conditions_.find(inner);
  e.OpenIf(some == conditions_.end() ? c_.l.Of(inner) : some->second);
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
    if (!item->inst || item->axis) continue;
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
              AboutAccess(c_, item.access, inst.subs, inst.guard));
}

// Under a guard a value's own register is for the If that it leaves; inside it has another.
void Body::EmitInst(const Item& item, bool guarded) {
  const Inst& inst = *item.inst;
  Lowering& l = c_.l;
  if (item.axis) {
    const std::vector<Reg> extents = l.Extents(inst.args[0]);
    return CheckAxis(c_, item.access, *item.axis, inst.subs, extents, inst.loc);
  }
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
