#include "core/ad/body.h"

#include "core/ir/op_weight.h"

namespace pullback::ad {

using ir::Value;

BodyCopy::BodyCopy(ir::Builder& b, const Surroundings& around, const ir::Each& each,
                   size_t reverse_from)
    : b_(b), around_(around), each_(each) {
  std::vector<Value> extents;
  std::vector<std::string> names;
  for (const ir::IndexVar& i : each.indices) {
    extents.push_back(around.primal(i.extent));
    names.push_back(around.from.names[i.var.id]);
  }
  // Outer values must exist before the statement begins: constraints and reads ask for them now.
  for (const ir::Inst& inst : each.body) {
    for (Value v : inst.results) def_[v.id] = &inst;
  }
  const std::vector<Value> vars = b.BeginEach(extents, names);
  for (size_t k = 0; k < vars.size(); ++k) {
    const uint32_t old = each.indices[k].var.id;
    if (k < reverse_from) {
      copy_[old] = vars[k];
    } else {
      reversed_[old] = ir::Affine::Of(extents[k]) - ir::Affine::Const(1) - ir::Affine::Of(vars[k]);
    }
  }
  for (const ir::Constraint& c : each.where) b.Where({Get(c.e), c.equality});
}

Value BodyCopy::Get(Value v) {
  if (const auto it = copy_.find(v.id); it != copy_.end()) return it->second;
  if (const auto it = reversed_.find(v.id); it != reversed_.end()) {
    const Value before = b_.guard();
    b_.SetGuard(ir::kNoValue);  // others may use it
    const Value made = b_.AffineOf(it->second);
    b_.SetGuard(before);
    return copy_[v.id] = made;
  }
  const auto def = def_.find(v.id);
  const auto stored = stored_.find(v.id);
  const Value copy = stored != stored_.end() ? Stored(*stored->second.result, stored->second.array)
                     : def == def_.end()     ? around_.primal(v)
                                             : Kept(*def->second, v);
  if (!copy.valid()) return Copy(*def->second, v);
  copy_[v.id] = copy;
  return copy;
}

ir::Affine BodyCopy::Get(const ir::Affine& a) {
  ir::Affine out = ir::Affine::Const(a.constant);
  for (const ir::Affine::Term& t : a.terms) {
    const auto it = reversed_.find(t.value.id);
    out = out + (it == reversed_.end() ? ir::Affine::Of(Get(t.value)) : it->second) * t.coeff;
  }
  return out;
}

std::vector<ir::Affine> BodyCopy::Get(ir::AffineSpan subs) {
  std::vector<ir::Affine> out;
  out.reserve(subs.size());
  for (const ir::Affine& a : subs) out.push_back(Get(a));
  return out;
}

void BodyCopy::ReadBack(const ir::Inst& inst) {
  for (size_t k = 0; k < inst.results.size(); ++k) {
    const ir::EachResult& r = inst.each->results[k];
    const auto def = def_.find(r.value.id);
    if (r.monoid != ir::Monoid::kGen || r.out.empty() || def == def_.end()) continue;
    const ir::Inst& made = *def->second;
    const bool dear = ir::IsDear(made);
    const bool everywhere = !r.guard.valid() || made.guard == r.guard;
    if (dear && everywhere) stored_[r.value.id] = {&r, inst.results[k]};
  }
}

Value BodyCopy::Stored(const ir::EachResult& r, Value array) {
  return Under(r.guard, [&] { return b_.Index(around_.primal(array), Get(r.out)); });
}

Value BodyCopy::Kept(const ir::Inst& inst, Value wanted) {
  const Value array = around_.kept ? around_.kept(inst, wanted) : ir::kNoValue;
  return array.valid() ? AtPoint(array, inst.guard) : Value{};
}

Value BodyCopy::AtPoint(Value array, Value guard) {
  if (each_.indices.empty()) return array;  // one number: there is one point
  std::vector<ir::Affine> point;
  for (const ir::IndexVar& i : each_.indices) point.push_back(ir::Affine::Of(i.var));
  return Under(guard, [&] { return b_.Index(array, Get(point)); });
}

Value BodyCopy::Copy(const ir::Inst& inst, Value wanted) {
  if (inst.op == ir::Op::Call && copy_call_ && copy_call_(inst)) return copy_.at(wanted.id);
  ir::Inst copy = inst;
  for (Value& v : copy.args) v = Get(v);
  copy.guard = GetOrNone(inst.guard);
  copy.subs = Get(inst.subs);
  for (ir::Constraint& c : copy.constraints) c.e = Get(c.e);
  for (Value& v : copy.results) {
    const Value fresh = b_.function().NewLike(around_.from, v);
    copy_[v.id] = fresh;
    v = fresh;
  }
  const Value before = b_.guard();
  b_.SetGuard(ir::kNoValue);  // the copy has its own guard
  b_.Append(std::move(copy));
  b_.SetGuard(before);
  return copy_.at(wanted.id);
}

}  // namespace pullback::ad
