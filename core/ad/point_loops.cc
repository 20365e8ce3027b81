#include "core/ad/point_loops.h"

#include <algorithm>
#include <utility>

namespace pullback::ad {

using ir::Affine;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

void AddRanges(ir::AffineSpan at, const std::vector<Value>& extents, std::vector<Constraint>& all) {
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    all.push_back({at[axis], false});
    all.push_back({Affine::Of(extents[axis]) - at[axis] - Affine::Const(1), false});
  }
}

bool IsEvaluated(const Inst& inst) {
  return !ir::HasCallee(inst.op) && inst.op != Op::StopGradient && inst.results.size() == 1;
}

}  // namespace

// --- the plan

PointLoops::PointLoops(ir::Builder& b, const ir::Each& each, const analysis::Box& box,
                       const PointAccess& access)
    : b_(b), each_(each), access_(access) {
  for (const Inst& inst : each.body) {
    for (Value v : inst.results) defs_[v] = &inst;
  }
  for (size_t k = 0; k < each.indices.size(); ++k) index_level_[each.indices[k].var] = k + 1;
  levels_.resize(each.indices.size() + 1);
  for (const auto* subs : {&access_.from, &access_.to}) {
    for (const Affine& a : *subs) ok_ = ok_ && NeedAll(a);
  }
  constraints_ = each.where;
  for (Value guard : access_.guards) AddGuard(guard);
  AddRanges(access_.from, access_.from_extents, constraints_);
  AddRanges(access_.to, access_.to_extents, constraints_);
  for (const Constraint& c : constraints_) Place(c, box);
  for (Value v : tests_) levels_[LevelOf(v)].guards.push_back(v);
  for (const Inst& inst : each.body) {
    for (Value v : inst.results) {
      if (const auto it = needed_.find(v); it != needed_.end())
        levels_[it->second].insts.push_back(&inst);
    }
  }
}

void PointLoops::AddGuard(Value guard) {
  const auto def = defs_.find(guard);
  if (def != defs_.end()) {
    const Inst& inst = *def->second;
    if (inst.guard.valid()) AddGuard(inst.guard);
    if (inst.op == Op::And) {
      AddGuard(inst.args[0]);
      return AddGuard(inst.args[1]);
    }
    if (inst.op == Op::Holds) {
      for (const Constraint& c : inst.constraints) {
        if (NeedAll(c.e)) constraints_.push_back(c);
      }
      return;
    }
  }
  if (Need(guard)) tests_.push_back(guard);
}

// Whether v can be evaluated in front of the points' code; it will be.
bool PointLoops::Need(Value v) {
  const auto def = defs_.find(v);
  if (def == defs_.end() || needed_.count(v) != 0) return true;
  if (!IsEvaluated(*def->second)) return false;
  bool all = true;
  size_t level = 0;
  ir::ForEachOperand(*def->second, [&](Value x) {
    all = all && Need(x);
    if (all) level = std::max(level, LevelOf(x));
  });
  if (all) needed_[v] = level;
  return all;
}

bool PointLoops::NeedAll(const Affine& e) {
  bool all = true;
  ir::ForEachOperand(e, [&](Value v) { all = all && Need(v); });
  return all;
}

size_t PointLoops::LevelOf(Value v) const {
  if (const auto it = index_level_.find(v); it != index_level_.end()) return it->second;
  const auto it = needed_.find(v);
  return it == needed_.end() ? 0 : it->second;
}

size_t PointLoops::LevelOf(const Affine& e) const {
  size_t level = 0;
  ir::ForEachOperand(e, [&](Value v) { level = std::max(level, LevelOf(v)); });
  return level;
}

bool PointLoops::ReadsBody(const Affine& e, size_t level) const {
  bool reads = false;
  ir::ForEachOperand(e, [&](Value v) {
    const auto it = needed_.find(v);
    reads |= it != needed_.end() && it->second == level;
  });
  return reads;
}

void PointLoops::Place(const Constraint& c, const analysis::Box& box) {
  if (Narrows(c, box)) return;
  if (!c.equality && box.IsNonNegative(c.e) == analysis::Truth::kTrue) return;
  const size_t level = LevelOf(c.e);
  (ReadsBody(c.e, level) ? levels_[level].late : levels_[level].early).push_back(c);
}

// As limits of a loop, where nothing remains to be tested. An equality with a unit coefficient is exact even
// where it wraps: extents are small.
bool PointLoops::Narrows(const Constraint& c, const analysis::Box& box) {
  const size_t level = LevelOf(c.e);
  if (level == 0 || ReadsBody(c.e, level)) return false;
  const Value index = each_.indices[level - 1].var;
  const int64_t coeff = c.e.Coeff(index);
  const bool unit = coeff == 1 || coeff == -1;
  const bool tame = box.IsTame(c.e);
  if (coeff == 0 || !(tame || (unit && c.equality))) return false;
  const Affine rest = c.e.Substitute(index, Affine{});
  levels_[level].limits.push_back({rest, coeff});
  if (c.equality) levels_[level].limits.push_back({rest * -1, -coeff});
  return unit || !c.equality;  // between limits that are no multiples there may be a point too many
}

// --- the code

Value PointLoops::Get(Value v) const {
  const auto it = to_.find(v);
  return it == to_.end() ? v : it->second;
}

Affine PointLoops::Mapped(Affine e) const {
  ir::ForEachOperand(e, [this](Value& v) { v = Get(v); });
  ir::Canonicalise(e);
  return e;
}

std::vector<Affine> PointLoops::Mapped(ir::AffineSpan all) const {
  std::vector<Affine> mapped;
  for (const Affine& e : all) mapped.push_back(Mapped(e));
  return mapped;
}

PointLoops::State PointLoops::Emit(const State& state, const std::function<State(State)>& visit) {
  to_.clear();
  return At(0, state, visit);
}

Value PointLoops::Holds(ir::ConstraintSpan constraints, const std::vector<Value>& guards) {
  std::vector<Constraint> mapped;
  for (const Constraint& c : constraints) mapped.push_back({Mapped(c.e), c.equality});
  Value all = mapped.empty() ? ir::kNoValue : b_.Holds(std::move(mapped));
  for (Value v : guards) all = all.valid() ? b_.Make(Op::And, {all, Get(v)}) : Get(v);
  return all;
}

// What is known with `level` loops open.
PointLoops::State PointLoops::At(size_t level, const State& state,
                                 const std::function<State(State)>& visit) {
  const Level& here = levels_[level];
  const auto inner = [&](State s) {
    return level + 1 == levels_.size() ? visit(std::move(s)) : Loop(level + 1, s, visit);
  };
  return If(Holds(here.early, {}), state, [&](const State& s) {
    for (const Inst* inst : here.insts) Evaluate(*inst);
    return If(Holds(here.late, here.guards), s, inner);
  });
}

PointLoops::State PointLoops::If(Value condition, const State& state,
                                 const std::function<State(State)>& inside) {
  if (!condition.valid()) return inside(state);
  const uint32_t then = b_.NewBlock(), join = b_.NewBlock();
  State after;
  for (Value v : state) after.push_back(b_.AddParam(join, b_.TypeOf(v)));
  b_.Branch(condition, {then, {}}, {join, state});
  b_.SetBlock(then);
  b_.Jump(join, inside(state));
  b_.SetBlock(join);
  return after;
}

PointLoops::State PointLoops::Loop(size_t level, const State& state,
                                   const std::function<State(State)>& visit) {
  const ir::IndexVar& index = each_.indices[level - 1];
  Value first = b_.I64(0), end = index.extent;
  for (const Limit& limit : levels_[level].limits) {
    const Value bound = Bound(limit);
    if (limit.coeff > 0) {
      first = b_.Make(Op::Max, {first, bound});
    } else {
      end = b_.Make(Op::Min, {end, b_.Make(Op::Add, {bound, b_.I64(1)})});
    }
  }
  const uint32_t header = b_.NewBlock(), body = b_.NewBlock(), done = b_.NewBlock();
  const Value i = b_.AddParam(header, ir::Type::I64(), b_.function().names[index.var.id]);
  State into;
  for (Value v : state) into.push_back(b_.AddParam(header, b_.TypeOf(v)));
  State entering = {first};
  entering.insert(entering.end(), state.begin(), state.end());
  b_.Jump(header, entering);
  b_.SetBlock(header);
  b_.Branch(b_.Make(Op::Lt, {i, end}), {body, {}}, {done, {}});
  b_.SetBlock(body);
  to_[index.var] = i;
  State next = At(level, into, visit);
  next.insert(next.begin(), b_.Make(Op::Add, {i, b_.I64(1)}));
  b_.Jump(header, next);
  b_.SetBlock(done);
  return into;
}

// The least index for a positive coefficient, the greatest for a negative one.
Value PointLoops::Bound(const Limit& limit) {
  const Affine rest = Mapped(limit.rest);
  if (limit.coeff == 1) return b_.AffineOf(rest * -1);
  if (limit.coeff == -1) return b_.AffineOf(rest);
  // Rounded down, a division by d >= 2: (a - ((a % d + d) % d)) / d.
  const bool least = limit.coeff > 0;
  const int64_t divisor = least ? limit.coeff : -limit.coeff;
  const Value d = b_.I64(divisor);
  const Value a = b_.AffineOf(least ? Affine::Const(divisor - 1) - rest : rest);
  const Value rem = b_.Make(Op::Rem, {b_.Make(Op::Add, {b_.Make(Op::Rem, {a, d}), d}), d});
  return b_.Make(Op::Div, {b_.Make(Op::Sub, {a, rem}), d});
}

void PointLoops::Evaluate(const Inst& inst) {
  const Value guard = inst.guard.valid() ? Get(inst.guard) : ir::kNoValue;
  if (inst.op == Op::Index) {
    to_[inst.results[0]] = Read(inst, guard);
    return;
  }
  Inst copy = inst;
  copy.guard = ir::kNoValue;
  ir::ForEachOperand(copy, [this](Value& v) { v = Get(v); });
  ir::CanonicaliseAffines(copy);
  const ir::Type type = b_.TypeOf(inst.results[0]);
  if ((inst.op == Op::Div || inst.op == Op::Rem) && !type.IsFloat()) {
    const Value d = copy.args[1];
    copy.args[1] = b_.Make(Op::Select, {b_.Make(Op::Eq, {d, b_.I64(0)}), b_.I64(1), d});
  }
  copy.results = {b_.function().NewValue(type)};
  Value value = copy.results[0];
  b_.Append(std::move(copy));
  if (guard.valid()) value = b_.Make(Op::Select, {guard, value, b_.Zero(type)});
  to_[inst.results[0]] = value;
}

// 0 out of range, where the program's read traps or is not made.
Value PointLoops::Read(const Inst& inst, Value guard) {
  const Value array = Get(inst.args[0]);
  const std::vector<Affine> subs = Mapped(inst.subs);
  std::vector<Value> extents;
  for (size_t axis = 0; axis < subs.size(); ++axis)
    extents.push_back(b_.Dim(array, static_cast<int>(axis)));
  std::vector<Constraint> in_range;
  AddRanges(subs, extents, in_range);
  Value condition = b_.Holds(std::move(in_range));
  if (guard.valid()) condition = b_.Make(Op::And, {condition, guard});
  const Value zero = b_.Zero(b_.TypeOf(inst.results[0]));
  return If(condition, {zero}, [&](const State&) { return State{b_.Index(array, subs)}; })[0];
}

}  // namespace pullback::ad
