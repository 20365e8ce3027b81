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

bool ReadRanges::IsInRange(const Each& reader, Value guard, const Affine& sub, Value extent) const {
  return IsIndexOf(reader, sub, extent) || IsWithin(reader, guard, sub, extent) ||
         (Proves(reader, guard, sub, extent, /*from=*/true) &&
          Proves(reader, guard, sub, extent, /*from=*/false));
}

bool ReadRanges::IsFromZero(const Each& reader, Value guard, const Affine& sub) const {
  return Proves(reader, guard, sub, {}, /*from=*/true);
}

bool ReadRanges::IsBelow(const Each& reader, Value guard, const Affine& sub, Value extent) const {
  return Proves(reader, guard, sub, extent, /*from=*/false);
}

bool ReadRanges::Proves(const Each& reader, Value guard, const Affine& sub, Value extent,
                        bool from) const {
  analysis::Box box = outer_.BoxOf(reader);
  const auto describe = [&](Value v) { return outer_.Describe(v, box); };
  const auto of_outside = [&](const Affine& form) { return outer_.Describe(form, reader, box); };
  const Affine size = extent.valid() ? describe(extent) : Affine();
  if (const Value rows = size.AsValue(); rows.valid()) {
    const analysis::Interval range = box.RangeOf(rows);
    box.AddValue(rows, {std::max<int64_t>(range.lo, 0), std::min(range.hi, kMaxExtent)});
  }
  const Affine at = of_outside(sub), rest = from ? at : size - Affine::Const(1) - at;
  std::vector<ir::Constraint> known = outer_.QuotientsOf(reader, box);
  const auto learn = [&](ir::ConstraintSpan told) {
    for (const ir::Constraint& c : told) known.push_back({of_outside(c.e), c.equality});
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
