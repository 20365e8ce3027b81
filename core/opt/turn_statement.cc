#include "core/opt/turn_statement.h"

#include <algorithm>

namespace pullback::opt {

using ir::Affine;
using ir::Affines;
using ir::Inst;
using ir::Op;
using ir::Value;

bool TurnStatement::Where(const Affine& e, bool equality) {
  Affine form;
  form.constant = e.constant;
  for (const Affine::Term& t : e.terms) {
    const Value v = values_.Root(t.value);
    const auto it = forms_.find(v.id);
    if (it == forms_.end() && !values_.IsOutside(v)) return false;
    form = form + (it == forms_.end() ? Affine::Of(v) : it->second) * t.coeff;
  }
  builder_.Where({std::move(form), equality});
  return true;
}

Value TurnStatement::Get(Value v) {
  v = values_.Root(v);
  if (const auto it = values_at_.find(v.id); it != values_at_.end()) return it->second;
  const Value at = Make(v);
  if (at.valid()) values_at_[v.id] = at;
  return at;
}

Value TurnStatement::Make(Value v) {
  if (const auto it = forms_.find(v.id); it != forms_.end()) return builder_.AffineOf(it->second);
  if (const auto it = values_.made.find(v.id); it != values_.made.end()) {
    if (!it->second.shape.empty()) return {};
    builder_.SetGuard(base_);
    const Value number = Read(it->second, {});
    builder_.SetGuard({});
    return number;
  }
  if (values_.either.contains(v.id)) return MakeEither(v);
  if (const auto it = values_.parts.find(v.id); it != values_.parts.end())
    return MakeElement(it->second.array, it->second.read->subs);
  if (values_.IsOutside(v)) return v;
  const Inst* inst = values_.defs.Inst(v);
  if (inst == nullptr || !builder_.TypeOf(v).IsScalar() || !Copy(*inst)) return {};
  return values_at_.at(v.id);
}

Value TurnStatement::And(Value a, Value b) {
  return a.valid() ? builder_.Make(Op::And, {a, b}) : b;
}

std::optional<Value> TurnStatement::GuardOf(const TurnCondition* condition) {
  if (condition == nullptr) return base_;
  if (const auto it = guards_.find(condition); it != guards_.end()) return it->second;
  const std::optional<Value> around = GuardOf(condition->around);
  Value cond = around ? Get(condition->cond) : Value();
  if (!cond.valid()) return std::nullopt;
  if (values_.IsOutside(values_.Root(condition->cond)))
    return std::nullopt;  // a guard is of the body
  const Value before = builder_.guard();
  builder_.SetGuard(*around);
  if (!condition->holds) cond = builder_.Make(Op::Not, {cond});
  const Value guard = And(*around, cond);
  builder_.SetGuard(before);
  guards_[condition] = guard;
  return guard;
}

// What each way gives is there where that is taken.
Value TurnStatement::MakeEither(Value v) {
  const TurnBranch::Choice& choice = values_.either.at(v.id);
  const auto under = values_.under.find(v.id);
  const std::optional<Value> guard =
      GuardOf(under == values_.under.end() ? nullptr : under->second);
  if (!guard || !builder_.TypeOf(v).IsScalar()) return {};
  const Value cond = Get(values_.chosen_by.at(v.id));
  const Value a = Get(choice.from[0]), b = Get(choice.from[1]);
  if (!cond.valid() || !a.valid() || !b.valid()) return {};
  builder_.SetGuard(*guard);
  const Value made = builder_.Make(Op::Select, {cond, a, b});
  builder_.SetGuard({});
  return made;
}

std::optional<Affine> TurnStatement::Get(const Affine& a) {
  Affine form = Affine::Const(a.constant);
  for (const Affine::Term& t : a.terms) {
    const Value v = values_.Root(t.value);
    const auto it = forms_.find(v.id);
    if (it != forms_.end()) {
      form = form + it->second * t.coeff;
      continue;
    }
    const Value at = Get(v);
    if (!at.valid()) return std::nullopt;
    form = form + Affine::Of(at) * t.coeff;
  }
  return form;
}

std::optional<Affines> TurnStatement::Get(ir::AffineSpan subs) {
  Affines forms;
  for (const Affine& a : subs) {
    std::optional<Affine> form = Get(a);
    if (!form) return std::nullopt;
    forms.push_back(*std::move(form));
  }
  return forms;
}

std::optional<Affines> TurnStatement::Indices(const NestPath& around) {
  Affines indices;
  for (const CountedNest* nest : around) {
    const auto it = turns_.find(nest);
    if (it == turns_.end()) return std::nullopt;  // behind the loop's turns
    indices.push_back(it->second);
  }
  return indices;
}

Value TurnStatement::Read(const TurnArray& array, ir::AffineSpan own) {
  if (array.array.valid() && builder_.TypeOf(array.array).IsScalar()) return array.array;
  std::optional<Affines> at = Indices(array.around);
  if (!at || !array.array.valid()) return {};
  at->insert(at->end(), own.begin(), own.end());
  return builder_.Index(array.array, {at->begin(), at->end()});
}

bool TurnStatement::CopyRead(const Inst& inst, Inst& copy) {
  std::optional<Affines> subs = Get(inst.subs);
  if (!subs) return false;
  Value array = values_.Root(inst.args[0]);
  const auto of_turn = [&]() -> const TurnArray* {
    const auto read = values_.read.find(inst.results[0].id);
    if (read != values_.read.end()) return &read->second;
    const auto made = values_.made.find(array.id);
    return made == values_.made.end() ? nullptr : &made->second;
  }();
  if (of_turn != nullptr) {
    std::optional<Affines> at = Indices(of_turn->around);
    if (!at || !of_turn->array.valid()) return false;
    subs->insert(subs->begin(), at->begin(), at->end());
    array = of_turn->array;
  } else if (!values_.IsOutside(array)) {
    return false;
  }
  copy.args = {array};
  copy.subs = {subs->begin(), subs->end()};
  return true;
}

// Where an element that there is, is read.
Value TurnStatement::MakeElement(const CheapArray& array, ir::AffineSpan at) {
  Affines indices;
  for (size_t axis = 0; axis < at.size(); ++axis) {
    const auto extent = extents_.find(at[axis].AsValue().id);
    if (extent == extents_.end() || extent->second != array.shape[axis]) return {};
    indices.push_back(forms_.at(at[axis].AsValue().id));
  }
  for (size_t axis = 0; axis < at.size(); ++axis)
    extents_[array.each->indices[axis].var.id] = array.shape[axis];
  return MakeAgain(array, indices);
}

Value TurnStatement::MakeAgain(const CheapArray& array, ir::AffineSpan indices) {
  const auto values = values_at_;
  for (size_t axis = 0; axis < indices.size(); ++axis)
    Bind(array.each->indices[axis].var, indices[axis]);
  const std::vector<Inst>& body = array.each->body;
  Value made;
  if (std::all_of(body.begin(), body.end(), [&](const Inst& inst) { return Copy(inst); }))
    made = Get(array.value);
  values_at_ = values;
  return made;
}

Value TurnStatement::ReadOrMake(const TurnArray& array, ir::AffineSpan own) {
  const auto maker = values_.makers.find(array.array.id);
  std::optional<Affines> at = Indices(array.around);
  if (maker == values_.makers.end() || !at) return Read(array, own);
  at->insert(at->end(), own.begin(), own.end());
  const Value base = std::exchange(base_, Value());
  const Value made = MakeAgain(maker->second, *at);
  base_ = base;
  return made;
}

namespace {

bool IsForPoints(const Inst& inst) {
  const bool scalars = inst.op == Op::Select || inst.op == Op::Cast ||
                       inst.op == Op::StopGradient || inst.op == Op::Const ||
                       inst.op == Op::AffineOf || inst.op == Op::Holds;
  return scalars || ir::Info(inst.op).rule != ir::TypeRule::Own;
}

}  // namespace

bool TurnStatement::Copy(const Inst& inst) {
  const ir::Function& f = builder_.function();
  Inst copy;
  copy.op = inst.op;
  copy.bits = inst.bits;
  copy.loc = inst.loc;
  const auto under = values_.under.find(inst.results[0].id);
  const std::optional<Value> guard =
      GuardOf(under == values_.under.end() ? nullptr : under->second);
  if (!guard) return false;
  copy.guard = inst.guard.valid() ? Get(inst.guard) : *guard;
  if (inst.guard.valid() && !copy.guard.valid()) return false;
  if (inst.op == Op::Dim) {
    const Value array = values_.Root(inst.args[0]);
    const auto made = values_.made.find(array.id);
    if (made != values_.made.end()) {
      values_at_[inst.results[0].id] = made->second.shape[inst.bits];
      return !inst.guard.valid();
    }
    if (!values_.IsOutside(array)) return false;
    copy.args = {array};
  } else if (inst.op == Op::Index) {
    const auto cheap = values_.cheap.find(values_.Root(inst.args[0]).id);
    if (cheap != values_.cheap.end() && !inst.guard.valid()) {
      if (const Value made = MakeElement(cheap->second, inst.subs); made.valid()) {
        values_at_[inst.results[0].id] = made;
        return true;
      }
    }
    const auto read = values_.read.find(inst.results[0].id);
    if (read != values_.read.end() && !read->second.array.valid()) {
      values_at_[inst.results[0].id] = builder_.Zero(f.TypeOf(inst.results[0]));
      return true;
    }
    if (!CopyRead(inst, copy)) return false;
  } else {
    if (!IsForPoints(inst)) return false;
    for (Value v : inst.args) {
      copy.args.push_back(Get(v));
      if (!copy.args.back().valid()) return false;
    }
    std::optional<Affines> subs = Get(inst.subs);
    if (!subs) return false;
    copy.subs = {subs->begin(), subs->end()};
    for (const ir::Constraint& c : inst.constraints) {
      std::optional<Affine> form = Get(c.e);
      if (!form) return false;
      copy.constraints.push_back({*std::move(form), c.equality});
    }
  }
  for (Value v : inst.results) {
    copy.results.push_back(builder_.function().NewLike(f, v));
    values_at_[v.id] = copy.results.back();
  }
  builder_.Append(std::move(copy));
  return true;
}

}  // namespace pullback::opt
