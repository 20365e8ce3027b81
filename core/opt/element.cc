#include "core/opt/element.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/opt/pointwise.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

bool IsTrue(const ir::Constraint& c) {
  return c.e.IsConst() && (c.equality ? c.e.constant == 0 : c.e.constant >= 0);
}

bool AreTrue(const std::vector<ir::Constraint>& constraints) {
  return std::all_of(constraints.begin(), constraints.end(), IsTrue);
}

}  // namespace

Element::Made Element::ForBody(const Inst& read) {
  std::vector<ir::Constraint> inside = PlaceIndices(read.subs);
  for (const ir::Constraint& c : producer_.where) inside.push_back({Map(c.e), c.equality});
  const Value guard = GuardOf(std::move(inside), read.guard);
  for (const Inst& inst : producer_.body) Copy(inst, guard);
  const Value value = ResultOf(result_.value, guard);
  return {std::move(made_), value};
}

std::optional<Element::Made> Element::ForBlock(const Inst& read) {
  if (result_.guard.valid() || !AreTrue(PlaceIndices(read.subs)) || !IsThere()) return std::nullopt;
  for (const Inst& inst : producer_.body) {
    if (inst.op == Op::Holds) continue;
    Copy(inst, ir::kNoValue);
    made_.back().guard = ir::kNoValue;
  }
  const Value value = Operand(result_.value, ir::kNoValue);
  return Made{std::move(made_), value};
}

// Whether all predicates of the producer hold at the element, and nothing but guards reads them.
bool Element::IsThere() const {
  std::set<Value> holds;
  bool there = result_.value.valid();
  for (const ir::Constraint& c : producer_.where) there = there && IsTrue({Map(c.e), c.equality});
  for (const Inst& inst : producer_.body) {
    there = there && (!inst.guard.valid() || holds.contains(inst.guard));
    for (Value v : inst.args) there = there && !holds.contains(v);
    if (inst.op != Op::Holds) continue;
    for (const ir::Constraint& c : inst.constraints)
      there = there && IsTrue({Map(c.e), c.equality});
    holds.insert(inst.results[0]);
  }
  return there && !holds.contains(result_.value);
}

Value Element::Append(Op op, ir::Type type, Value guard) {
  Inst inst;
  inst.op = op;
  inst.guard = guard;
  inst.results = {f_.NewValue(type)};
  made_.push_back(std::move(inst));
  return made_.back().results[0];
}

// Each index follows from the first subscript that it makes; what the others, and its own range, ask for.
std::vector<ir::Constraint> Element::PlaceIndices(ir::AffineSpan subs) {
  std::vector<ir::Constraint> asked;
  for (size_t k = 0; k < result_.out.size(); ++k) {
    if (IsOutside(producer_, result_.out[k])) {
      if (subs[k] != result_.out[k]) asked.push_back({subs[k] - result_.out[k], true});
      continue;
    }
    const Value index = IndexOf(producer_, result_.out[k]);
    const Affine at = subs[k] - (result_.out[k] - Affine::Of(index));
    const auto [placed, first] = subs_.try_emplace(index, at);
    if (!first && at != placed->second) asked.push_back({at - placed->second, true});
    const Value extent = std::find_if(producer_.indices.begin(), producer_.indices.end(),
                                      [&](const ir::IndexVar& i) { return i.var == index; })
                             ->extent;
    const bool shifted = at != subs[k];
    if (!first || (!shifted && extent == result_.shape[k])) continue;
    if (shifted) asked.push_back({at, false});
    asked.push_back({Affine::Of(extent) - at - Affine::Const(1), false});
  }
  return asked;
}

// Where the element is what the producer's body says; 0 elsewhere.
Value Element::GuardOf(std::vector<ir::Constraint> inside, Value read_guard) {
  if (inside.empty()) return read_guard;
  const Value guard = Append(Op::Holds, ir::Type::Bool(), read_guard);
  made_.back().constraints = std::move(inside);
  return guard;
}

Affine Element::Map(const Affine& a) const {
  Affine out = Affine::Const(a.constant);
  for (const Affine::Term& t : a.terms) {
    if (const auto sub = subs_.find(t.value); sub != subs_.end()) {
      out = out + sub->second * t.coeff;
    } else {
      out = out + Affine::Of(Copied(t.value)) * t.coeff;
    }
  }
  return out;
}

Value Element::Copied(Value v) const {
  const auto it = copies_.find(v);
  return it == copies_.end() ? v : it->second;
}

// As an operand: an index becomes the value of its subscript.
Value Element::Operand(Value v, Value guard) {
  const auto sub = subs_.find(v);
  if (sub == subs_.end()) return Copied(v);
  if (const Value plain = sub->second.AsValue(); plain.valid()) return plain;
  const Value value = Append(Op::AffineOf, ir::Type::I64(), guard);
  made_.back().subs = {sub->second};
  return value;
}

void Element::Copy(const Inst& inst, Value guard) {
  Inst copy = inst;
  for (Value& v : copy.args) v = Operand(v, guard);
  for (Affine& a : copy.subs) a = Map(a);
  for (ir::Constraint& c : copy.constraints) c.e = Map(c.e);
  // A guard of the producer's own was copied under `guard`, and is false where that is.
  copy.guard = inst.guard.valid() ? Copied(inst.guard) : guard;
  for (Value& v : copy.results) {
    const Value fresh = f_.NewLike(f_, v);
    copies_[v] = fresh;
    v = fresh;
  }
  made_.push_back(std::move(copy));
}

// A value from outside, or an index, is not 0 outside the guard by itself.
Value Element::ResultOf(Value v, Value guard) {
  const Value value = Operand(v, guard);
  const bool in_body = copies_.count(v) != 0;
  if (in_body || !guard.valid()) {
    if (made_.empty()) Append(Op::Const, ir::Type::I64(), ir::kNoValue);
    return value;
  }
  // Under the guard itself, so that what reads it sees an element that is absent.
  const Value there = Append(Op::Select, f_.TypeOf(value), guard);
  made_.back().args = {guard, value, value};
  return there;
}

}  // namespace pullback::opt
