#include "core/tensor/front_checks.h"

#include <algorithm>

#include "core/ir/append.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Affine;
using ir::Constraint;
using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

bool IsOfOutside(const Each& each, const Affine& e) {
  return std::none_of(e.terms.begin(), e.terms.end(), [&](const Affine::Term& t) {
    return PlaceOfIndex(each, t.value) || FindDef(each, t.value);
  });
}

}  // namespace

std::optional<RowCheck> FrontChecks::CheckOf(const Each& reader, size_t inst, const Affine& row,
                                             ir::ValueSpan shape, ir::ConstraintSpan checked,
                                             ir::ConstraintSpan places) const {
  std::vector<Constraint> known(checked.begin(), checked.end());
  for (const Constraint& c : reader.where) {
    if (!IsOfOutside(reader, c.e)) return std::nullopt;
    known.push_back(c);
  }
  const Value guard = reader.body[inst].guard;
  const auto is_read_first = [&](const Affine& outside) {
    std::vector<Constraint> there = known;
    there.push_back({outside, false});
    return IsReadFirst(reader, inst, shape, there, places);
  };
  std::vector<Constraint> at = known;
  at.insert(at.end(), places.begin(), places.end());
  const RowCheck check{row, shape[0], !ranges_.IsFromZero(reader, guard, row, at),
                       !ranges_.IsBelow(reader, guard, row, shape[0], at)};
  const bool asks =
      check.from_zero || check.below;  // or it is in range, which took too long to show
  const bool may_be = asks && (!check.from_zero || is_read_first(row * -1 - Affine::Const(1))) &&
                      (!check.below || is_read_first(row - Affine::Of(shape[0])));
  return may_be ? std::optional(check) : std::nullopt;
}

bool FrontChecks::IsReadFirst(const Each& reader, size_t inst, ir::ValueSpan shape,
                              ir::ConstraintSpan known, ir::ConstraintSpan places) const {
  const auto holds = [&](Value guard) {
    return guard.valid() ? ranges_.HoldsAtFirst(reader, guard, known) : std::optional(true);
  };
  const auto may_come_later = [&](const Inst& in_front) {
    if (!ir::MayTrap(in_front, f_) || holds(in_front.guard) == false) return true;
    if (in_front.op != Op::Index) return false;
    if (in_front.args[0] != reader.body[inst].args[0])
      return ranges_.IsInRange(reader, in_front, {});
    // Then that row is known or checked before, or a turn's own: of two that are not there either may be the error.
    const std::optional<Value> along = IndexAlong(reader, in_front.subs[0], known_);
    const bool is_fixed = along && !along->valid();
    return ranges_.IsInRange(reader, in_front, shape, is_fixed ? 1 : 0);
  };
  const auto at = reader.body.begin() + static_cast<std::ptrdiff_t>(inst);
  const bool is_there = std::all_of(places.begin(), places.end(), [&](const Constraint& c) {
    return ranges_.HoldsAtFirst(reader, c, known) == true;
  });
  return is_there && holds(at->guard) == true &&
         std::all_of(reader.body.begin(), at, may_come_later);
}

void RowCheck::AddTo(std::vector<Constraint>& known) const {
  if (from_zero) known.push_back({row, false});
  if (below) known.push_back({Affine::Of(extent) - row - Affine::Const(1), false});
}

void RowCheck::Append(const Each& reader, uint32_t loc, ir::Function& f,
                      std::vector<Inst>& out) const {
  const ir::Type type = ir::Type::Bool();
  ir::Appender made(f, out, loc);
  const Value at = made.Number(row), zero = made.Number({});
  const auto or_it = [&](Value holds, Op op, Value a, Value b) {
    const Value more = made.Make(op, type, {a, b});
    return holds.valid() ? made.Make(Op::Or, type, {holds, more}) : more;
  };
  Value holds;
  if (from_zero) holds = or_it(holds, Op::Ge, at, zero);
  if (below) {
    const Value to = made.Make(Op::Lt, type, {at, extent});
    holds = holds.valid() ? made.Make(Op::And, type, {holds, to}) : to;
  }
  for (const ir::IndexVar& i : reader.indices) holds = or_it(holds, Op::Le, i.extent, zero);
  const auto or_not = [&](const Constraint& c) {
    const Value e = made.Number(c.e);
    holds = or_it(holds, Op::Lt, e, zero);
    if (c.equality) holds = or_it(holds, Op::Gt, e, zero);
  };
  std::for_each(reader.where.begin(), reader.where.end(), or_not);
  if (where) or_not(*where);
  made.Check(holds, ir::TrapKind::kIndex, {at, extent});
}

}  // namespace pullback::tensor
