#include "core/ad/pattern_integers.h"

#include <algorithm>
#include <utility>

#include "core/base/tensor.h"

namespace pullback::ad {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

PatternIntegers::PatternIntegers(ir::Function& f, const std::vector<Inst>& code) : f_(f) {
  for (Value v : f.params()) {
    owners_.emplace(f.names[v.id], v);
    if (f.TypeOf(v) == ir::Type::I64()) forms_[v] = Affine::Of(v);
  }
  for (const Inst& inst : code) {
    for (size_t k = 0; k < inst.results.size(); ++k) {
      definitions_[inst.results[k]] = {&inst, k};
      owners_.emplace(f.names[inst.results[k].id], inst.results[k]);
    }
    Learn(inst);
  }
}

const Inst* PatternIntegers::DefinitionOf(Value v) const {
  const auto it = definitions_.find(v);
  return it == definitions_.end() ? nullptr : it->second.inst;
}

void PatternIntegers::Learn(const Inst& inst) {
  if (inst.op == Op::Check) {
    const Inst* equal = DefinitionOf(inst.args[0]);
    if (equal == nullptr || equal->op != Op::Eq) return;
    const auto a = Form(equal->args[0]), b = Form(equal->args[1]);
    if (a && b) Equate(*a, *b);
    return;
  }
  if (inst.results.size() != 1 || f_.TypeOf(inst.results[0]) != ir::Type::I64()) return;
  const Value v = inst.results[0];
  std::optional<Affine> form = FormOf(inst);
  if (!form) {
    if (OwnsName(v)) forms_[v] = Affine::Of(v);
    return;
  }
  // What has a name goes by it.
  const Value atom = form->AsValue();
  const auto known = atoms_.find(atom);
  if (OwnsName(v) && known != atoms_.end() && !IsNamed(atom)) f_.names[atom.id] = f_.names[v.id];
  forms_[v] = *form;
}

std::optional<Affine> PatternIntegers::FormOf(const Inst& inst) {
  if (inst.op == Op::AffineOf) {
    Affine sum = Affine::Const(inst.subs[0].constant);
    for (const Affine::Term& t : inst.subs[0].terms) {
      const std::optional<Affine> term = Form(t.value);
      if (!term) return std::nullopt;
      sum = sum + *term * t.coeff;
    }
    return sum;
  }
  std::vector<Affine> operands;
  for (const Affine& sub : inst.subs) {
    Inst affine;
    affine.op = Op::AffineOf;
    affine.subs = {sub};
    std::optional<Affine> form = FormOf(affine);
    if (!form) return std::nullopt;
    operands.push_back(std::move(*form));
  }
  for (Value v : inst.args) {
    if (inst.op == Op::Index || inst.op == Op::Dim) break;
    std::optional<Affine> form = Form(v);
    if (!form) return std::nullopt;
    operands.push_back(std::move(*form));
  }
  return PatternForm(*this, inst, operands);
}

std::optional<Affine> PatternForm(PatternIntegers& integers, const Inst& inst,
                                  const std::vector<Affine>& operands) {
  switch (inst.op) {
    case Op::Const: return Affine::Const(static_cast<int64_t>(inst.bits));
    case Op::Add: return operands[0] + operands[1];
    case Op::Sub: return operands[0] - operands[1];
    case Op::Neg: return operands[0] * -1;
    case Op::Mul:
      if (operands[1].IsConst()) return operands[0] * operands[1].constant;
      if (operands[0].IsConst()) return operands[1] * operands[0].constant;
      return integers.Of({inst.op, 0, {}, operands});
    case Op::Div:
    case Op::Rem:
    case Op::Min:
    case Op::Max:
    case Op::Abs: return integers.Of({inst.op, 0, {}, operands});
    case Op::Dim: return integers.Extent(inst.args[0], inst.bits);
    case Op::Index: return integers.Element(inst.args[0], operands);
    default: return std::nullopt;
  }
}

// A check says that they are the same: an extent becomes the other form.
void PatternIntegers::Equate(const Affine& a, const Affine& b) {
  const Affine x = Canonical(a), y = Canonical(b);
  const auto replace = [&](const Affine& extent, const Affine& by) {
    if (!IsSize(extent) || by.Coeff(extent.AsValue()) != 0) return false;
    equal_[extent.AsValue()] = by;
    return true;
  };
  if (x == y) return;
  const bool first = IsSize(x) && !IsNamed(x.AsValue());
  if (first ? replace(x, y) : replace(y, x)) return;
  replace(x, y);
}

bool PatternIntegers::OwnsName(Value v) const {
  const std::string& name = f_.names[v.id];
  return !name.empty() && owners_.at(name) == v;
}

bool PatternIntegers::IsSize(const Affine& e) const {
  const auto it = atoms_.find(e.AsValue());
  return it != atoms_.end() && it->second.op == Op::Dim;
}

Affine PatternIntegers::Canonical(Affine e) const {
  for (bool again = true; again;) {
    again = false;
    for (const Affine::Term& t : e.terms) {
      const auto it = equal_.find(t.value);
      if (it == equal_.end()) continue;
      e = e.Substitute(t.value, it->second);
      again = true;
      break;
    }
  }
  return e;
}

std::optional<Affine> PatternIntegers::Form(Value v) const {
  const auto it = forms_.find(v);
  if (it == forms_.end()) return std::nullopt;
  return Canonical(it->second);
}

std::optional<Affine> PatternIntegers::Extent(Value array, size_t axis) {
  const Inst* inst = DefinitionOf(array);
  if (inst == nullptr) {
    const Affine extent = Of({Op::Dim, axis, array, {}});
    box_.AddValue(extent.AsValue(), {0, kMaxExtent});
    return Canonical(extent);
  }
  Value size;
  switch (inst->op) {
    case Op::Each: size = inst->each->results[ResultNumber(array)].shape[axis]; break;
    case Op::Zeros: size = inst->args[axis]; break;
    case Op::Fit: size = inst->args[axis + 1]; break;
    case Op::AddArrays:
    case Op::Update:
    case Op::AddAt:
    case Op::StopGradient: return Extent(inst->args[0], axis);
    default: return std::nullopt;
  }
  const std::optional<Affine> form = Form(size);
  // An array is there, so that none of its extents is negative.
  if (form && form->AsValue().valid()) box_.AddValue(form->AsValue(), {0, kMaxExtent});
  return form;
}

std::optional<Affine> PatternIntegers::Element(Value array, std::vector<Affine> at) {
  const Inst* inst = DefinitionOf(array);
  if (inst != nullptr && inst->each) {
    const ir::EachResult& r = inst->each->results[ResultNumber(array)];
    std::map<Value, Affine> indices;
    bool whole = r.monoid == ir::Monoid::kGen && !r.guard.valid() && !r.into.valid() &&
                 inst->each->where.empty() && r.out.size() == inst->each->indices.size() &&
                 ir::IsPrefixForm(*inst->each, r);
    for (size_t k = 0; whole && k < at.size(); ++k) {
      whole = Form(inst->each->indices[k].extent) == Form(r.shape[k]);
      indices[inst->each->indices[k].var] = at[k];
    }
    if (whole) {
      const auto form = PatternPlace(*this, *inst->each, std::move(indices)).Form(r.value);
      if (form) return form;
    }
  }
  if (inst != nullptr && !OwnsName(array)) return std::nullopt;
  return Of({Op::Index, 0, array, std::move(at)});
}

Affine PatternIntegers::Of(PatternAtom atom) {
  for (const auto& [v, known] : atoms_) {
    if (known == atom) return Affine::Of(v);
  }
  const Value v = f_.NewValue(ir::Type::I64());
  atoms_[v] = std::move(atom);
  return Affine::Of(v);
}

PatternPoint PatternIntegers::NewPoint(Value like, const Affine& extent) {
  const Value v = f_.NewValue(ir::Type::I64(), like.valid() ? f_.names[like.id] : "");
  box_.AddIndex(v, extent);
  return {v, extent};
}

bool PatternIntegers::Reads(const Affine& e, Value point) const {
  return std::any_of(e.terms.begin(), e.terms.end(), [&](const Affine::Term& t) {
    const auto it = atoms_.find(t.value);
    if (it == atoms_.end()) return false;
    const std::vector<Affine>& operands = it->second.operands;
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Affine& x) { return Mentions(x, point); });
  });
}

bool PatternIntegers::Mentions(const Affine& e, Value point) const {
  return e.Coeff(point) != 0 || Reads(e, point);
}

Affine PatternIntegers::Substitute(const Affine& e, Value point, const Affine& by) {
  Affine sum = Affine::Const(e.constant);
  for (const Affine::Term& t : e.terms) {
    Affine term = t.value == point ? by : Affine::Of(t.value);
    if (Reads(term, point) && t.value != point) {
      PatternAtom atom = atoms_.at(t.value);
      for (Affine& operand : atom.operands) operand = Substitute(operand, point, by);
      term = Of(std::move(atom));
    }
    sum = sum + term * t.coeff;
  }
  return sum;
}

}  // namespace pullback::ad
