#include "core/tensor/read_ranges.h"

#include <algorithm>

#include "core/analysis/predicate.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Affine;
using ir::Each;
using ir::Inst;
using ir::Value;

ReadRanges::ReadRanges(const ir::Function& f)
    : outer_(f), extents_(f), equal_(ir::CheckedEqual(f.blocks[0])) {}

bool ReadRanges::IsInRange(const Each& reader, Value guard, const Affine& sub, Value extent,
                           ir::ConstraintSpan known) const {
  return IsIndexOf(reader, sub, extent) || IsWithin(reader, guard, sub, extent) ||
         (Proves(reader, guard, sub, extent, /*from=*/true, known) &&
          Proves(reader, guard, sub, extent, /*from=*/false, known));
}

bool ReadRanges::IsFromZero(const Each& reader, Value guard, const Affine& sub,
                            ir::ConstraintSpan known) const {
  return Proves(reader, guard, sub, {}, /*from=*/true, known);
}

bool ReadRanges::IsBelow(const Each& reader, Value guard, const Affine& sub, Value extent,
                         ir::ConstraintSpan known) const {
  return Proves(reader, guard, sub, extent, /*from=*/false, known);
}

bool ReadRanges::Proves(const Each& reader, Value guard, const Affine& sub, Value extent, bool from,
                        ir::ConstraintSpan told) const {
  analysis::Box box = outer_.BoxOf(reader);
  const auto describe = [&](Value v) { return outer_.Describe(v, box); };
  const auto of_outside = [&](const Affine& form) { return outer_.Describe(form, reader, box); };
  const Affine size = extent.valid() ? describe(extent) : Affine();
  if (const Value rows = size.AsValue(); rows.valid()) {
    const analysis::Interval range = box.RangeOf(rows);
    box.AddValue(rows, {std::max<int64_t>(range.lo, 0), std::min(range.hi, kMaxExtent)});
  }
  const Affine at = of_outside(sub), rest = from ? at : size - Affine::Const(1) - at;
  std::vector<ir::Constraint> known = outer_.QuotientsOf(reader, box, extent);
  const auto learn = [&](ir::ConstraintSpan holds) {
    for (const ir::Constraint& c : holds) known.push_back({of_outside(c.e), c.equality});
  };
  analysis::Work work;
  // What is not 0 is 1 or more, where it cannot be less than 0.
  const auto learn_not = [&](const ir::Constraint& c) {
    const Affine form = of_outside(c.e);
    for (const Affine& side : {form, form * -1}) {
      const bool is_it =
          c.equality ? analysis::ProvesImplied(known, {side, false}, box, work) : side == form * -1;
      if (is_it) return known.push_back({side - Affine::Const(1), false});
    }
  };
  learn(told);
  learn(reader.where);
  for (Value v : ConditionsOf(reader, guard)) {
    const Inst* def = FindDef(reader, v);
    if (def && def->op == ir::Op::Holds) learn(def->constraints);
    const Inst* denied = def && def->op == ir::Op::Not ? FindDef(reader, def->args[0]) : nullptr;
    if (denied && denied->op == ir::Op::Holds && denied->constraints.size() == 1)
      learn_not(denied->constraints[0]);
  }
  for (const ir::IndexVar& i : reader.indices)
    known.push_back({describe(i.extent) - Affine::Const(1), false});
  for (const auto& [a, b] : equal_) known.push_back({describe(a) - describe(b), true});
  return analysis::ProvesImplied(known, {rest, false}, box, work);
}

std::optional<bool> ReadRanges::HoldsAtFirst(const Each& reader, Value condition,
                                             ir::ConstraintSpan known) const {
  const Inst* def = FindDef(reader, condition);
  if (!def) return std::nullopt;
  std::vector<std::optional<bool>>
      parts;  // of a conjunction: what has a guard is false where that is
  if (def->guard.valid()) parts.push_back(HoldsAtFirst(reader, def->guard, known));
  if (def->op == ir::Op::Holds) {
    for (const ir::Constraint& c : def->constraints)
      parts.push_back(HoldsAtFirst(reader, c, known));
  } else if (def->op == ir::Op::And) {
    for (const Value part : def->args) parts.push_back(HoldsAtFirst(reader, part, known));
  } else if (def->op == ir::Op::Not) {
    const std::optional<bool> denied = HoldsAtFirst(reader, def->args[0], known);
    parts.push_back(denied ? std::optional(!*denied) : denied);
  } else {
    parts.emplace_back();
  }
  const auto is = [](bool value) {
    return [value](const std::optional<bool>& part) { return part == value; };
  };
  if (std::any_of(parts.begin(), parts.end(), is(false))) return false;
  return std::all_of(parts.begin(), parts.end(), is(true)) ? std::optional(true) : std::nullopt;
}

std::optional<bool> ReadRanges::HoldsAtFirst(const Each& reader, const ir::Constraint& c,
                                             ir::ConstraintSpan known) const {
  Affine first = c.e;
  for (const ir::IndexVar& i : reader.indices) first = first.Substitute(i.var, Affine());
  const bool is_outside =
      std::none_of(first.terms.begin(), first.terms.end(),
                   [&](const Affine::Term& t) { return FindDef(reader, t.value) != nullptr; });
  if (!is_outside) return std::nullopt;
  const auto from_zero = [&](const Affine& e) { return IsFromZero(reader, {}, e, known); };
  const Affine one = Affine::Const(1);
  if (from_zero(first * -1 - one) || (c.equality && from_zero(first - one))) return false;
  const bool holds = from_zero(first) && (!c.equality || from_zero(first * -1));
  return holds ? std::optional(true) : std::nullopt;
}

bool ReadRanges::IsInRange(const Each& reader, const Inst& read, ir::ValueSpan shape,
                           size_t from) const {
  for (size_t k = from; k < read.subs.size(); ++k) {
    const Value extent = shape.empty() ? extents_.Of(read.args[0], k) : shape[k];
    if (!extent.valid() || !IsInRange(reader, read.guard, read.subs[k], extent)) return false;
  }
  return true;
}

bool ReadRanges::IsIndexOf(const Each& reader, const Affine& sub, Value extent) const {
  return std::any_of(reader.indices.begin(), reader.indices.end(), [&](const ir::IndexVar& i) {
    return i.var == sub.AsValue() && extents_.AreEqual(i.extent, extent);
  });
}

}  // namespace pullback::tensor
