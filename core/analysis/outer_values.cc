#include "core/analysis/outer_values.h"

#include <algorithm>

#include "core/base/work.h"

namespace pullback::analysis {

using ir::Affine;
using ir::Op;
using ir::Value;

namespace {

// Quotients truncate towards zero, and remainders have the sign of what is divided: by no more than `most`.
Interval OfQuotients(const Interval& a, int64_t by) { return {a.lo / by, a.hi / by}; }
Interval OfRemainders(const Interval& a, int64_t most) {
  return {a.lo < 0 ? 1 - most : 0, a.hi > 0 ? most - 1 : 0};
}

}  // namespace

OuterValues::OuterValues(const ir::Function& f) : f_(f) {
  known_.reserve(f.values.size());
  Spend(f.values.size());
  // In the order of the text; what a definition further down would say is not known.
  for (const ir::Block& b : f.blocks) {
    for (const ir::Inst& inst : b.insts) Learn(inst);
  }
}

void OuterValues::Learn(const ir::Inst& inst) {
  while (known_.size() < f_.values.size())
    known_.push_back({Affine::Of(Value{static_cast<uint32_t>(known_.size())}), {}});
  if (inst.results.size() != 1 || f_.TypeOf(inst.results[0]) != ir::Type::I64()) return;
  const Value v = inst.results[0];
  const auto of = [&](size_t k) { return Affine::Of(inst.args[k]); };
  switch (inst.op) {
    case Op::Const: return DefineAffine(v, Affine::Const(static_cast<int64_t>(inst.bits)));
    case Op::Dim:
    case Op::ListLen: known_[v.id].range = {0, kMaxExtent}; return;
    case Op::AffineOf: return DefineAffine(v, inst.subs[0]);
    case Op::Add: return DefineAffine(v, of(0) + of(1));
    case Op::Sub: return DefineAffine(v, of(0) - of(1));
    case Op::Neg: return DefineAffine(v, of(0) * -1);
    case Op::Max:
    case Op::Min: {
      const Interval a = known_[inst.args[0].id].range, b = known_[inst.args[1].id].range;
      known_[v.id].range = inst.op == Op::Max
                               ? Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)}
                               : Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
      for (size_t k = 0; k < 2 && inst.op == Op::Max; ++k) {
        const Affine& least = known_[inst.args[1 - k].id].form;
        if (least.IsConst() && least.constant <= 0) clamped_[v.id] = inst.args[k];
      }
      return;
    }
    case Op::Div: {
      const Affine& by = known_[inst.args[1].id].form;
      if (!by.IsConst() || by.constant <= 0) return;
      known_[v.id].range = OfQuotients(known_[inst.args[0].id].range, by.constant);
      divided_[v.id] = {inst.args[0], by.constant};
      return;
    }
    case Op::Rem: {
      const Interval by = known_[inst.args[1].id].range;
      if (by.lo >= 0 && by.hi > 0)
        known_[v.id].range = OfRemainders(known_[inst.args[0].id].range, by.hi);
      return;
    }
    default: return;
  }
}

// Where no sum of its terms wraps, the value is the form.
void OuterValues::DefineAffine(Value v, const Affine& e) {
  Box ranges;
  std::optional<Affine> form = Affine::Const(e.constant);
  for (const Affine::Term& t : e.terms) {
    for (const Affine::Term& inner : known_[t.value.id].form.terms)
      ranges.AddValue(inner.value, known_[inner.value.id].range);
    form = form ? Combine(1, *form, t.coeff, known_[t.value.id].form) : form;
  }
  if (!form) return;
  const std::optional<Interval> range = ranges.RangeOf(*form);
  if (!range) return;
  known_[v.id] = {*form, *range};
}

Affine OuterValues::FormOf(Value v) const {
  return v.id < known_.size() ? known_[v.id].form : Affine::Of(v);
}

Affine OuterValues::FormOfExtent(Value extent) const {
  const auto it = clamped_.find(extent.id);
  return FormOf(it == clamped_.end() ? extent : it->second);
}

Affine OuterValues::Describe(Value v, Box& box) const {
  const Affine form = FormOf(v);
  ir::ForEachOperand(form, [&](Value x) {
    if (x.id >= known_.size()) return;
    const Interval known = known_[x.id].range, told = box.RangeOf(x);
    box.AddValue(x, {std::max(known.lo, told.lo), std::min(known.hi, told.hi)});
  });
  return form;
}

bool OuterValues::MayBeNegative(Value v) const {
  Box box;
  const Affine form = Describe(v, box);
  const std::optional<Interval> range = box.RangeOf(form);
  return !range || range->lo < 0;
}

Affine OuterValues::Describe(const Affine& a, Box& box) const {
  return Describe(a, ir::Each(), box);
}

Affine OuterValues::Describe(const Affine& a, const ir::Each& each, Box& box) const {
  const auto is_inside = [&](Value v) {
    return std::any_of(each.indices.begin(), each.indices.end(),
                       [&](const ir::IndexVar& i) { return i.var == v; }) ||
           std::any_of(each.body.begin(), each.body.end(), [&](const ir::Inst& inst) {
             return std::find(inst.results.begin(), inst.results.end(), v) != inst.results.end();
           });
  };
  Affine form = a;
  for (const Affine::Term& t : a.terms) {
    if (!is_inside(t.value)) form = form.Substitute(t.value, Describe(t.value, box));
  }
  return form;
}

// A point makes the quotient 1 or more, so that what was divided is positive, and it is its floor: of an extent. What is no
// negative number has its floor anyway.
std::vector<ir::Constraint> OuterValues::QuotientsOf(const ir::Each& each, Box& box,
                                                     Value extent) const {
  std::vector<ir::Constraint> facts;
  const auto learn = [&](Value v, bool is_positive) {
    if (const auto at = clamped_.find(v.id); is_positive && at != clamped_.end()) v = at->second;
    auto it = divided_.find(v.id);
    for (; it != divided_.end(); it = divided_.find(it->second.dividend.id)) {  // of quotients
      const auto& [dividend, by] = it->second;
      if (!is_positive && MayBeNegative(dividend)) return;
      const auto rest = Combine(1, Describe(dividend, box), -by, Describe(Value{it->first}, box));
      if (!rest) return;
      facts.push_back({*rest, false});
      facts.push_back({Affine::Const(by - 1) - *rest, false});
    }
  };
  if (extent.valid()) learn(extent, false);
  for (const ir::IndexVar& i : each.indices) {
    learn(i.extent, true);
    const Affine form = FormOfExtent(i.extent);  // n / 2 - 1: a point makes n / 2 positive, too
    const bool less = form.terms.size() == 1 && form.terms[0].coeff > 0 && form.constant <= 0;
    for (const Affine::Term& t : form.terms) {
      if (t.value != i.extent) learn(t.value, less);
    }
  }
  for (const ir::Constraint& c : each.where)
    ir::ForEachOperand(c.e, [&](Value v) { learn(v, false); });
  return facts;
}

Box OuterValues::BoxOf(const ir::Each& each) const {
  Box box;
  const auto add = [&](Value v) {
    if (v.id < known_.size()) box.AddValue(v, known_[v.id].range);
  };
  const auto add_all = [&](const Affine& e) { ir::ForEachOperand(e, add); };
  for (const ir::Constraint& c : each.where) add_all(c.e);
  for (const ir::Inst& inst : each.body) {
    ir::ForEachOperand(inst, add);
  }
  for (const ir::IndexVar& i : each.indices) {
    add(i.extent);
    add_all(FormOfExtent(i.extent));
  }
  for (const ir::EachResult& r : each.results) {
    for (Value size : r.shape) {
      const Interval known = size.id < known_.size() ? known_[size.id].range : Interval{};
      box.AddValue(size, {std::max<int64_t>(known.lo, 0), std::min(known.hi, kMaxExtent)});
    }
  }
  for (const ir::IndexVar& i : each.indices) {
    const int64_t most = box.RangeOf(i.extent).hi;
    box.AddIndex(i.var, FormOfExtent(i.extent));
    if (clamped_.contains(i.extent.id) && most > 0)
      box.AddValue(i.var, {0, std::min(box.RangeOf(i.var).hi, most - 1)});
  }
  return box;
}

}  // namespace pullback::analysis
