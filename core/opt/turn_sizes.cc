#include "core/opt/turn_sizes.h"

#include <algorithm>
#include <utility>

#include "core/ir/append.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

Affine TurnValues::FormOf(const Affine& a) const {
  Affine rooted = Affine::Const(a.constant);
  for (const Affine::Term& t : a.terms) rooted = rooted + Affine::Of(Root(t.value)) * t.coeff;
  const Affine form = opt::FormOf(rooted, defs);
  Affine first = Affine::Const(form.constant);
  for (const Affine::Term& t : form.terms)
    first = first + Affine::Of(extents.First(t.value)) * t.coeff;
  return first;
}

Value TurnSizes::Outside(Value v) {
  v = values_.Root(v);
  if (values_.IsOutside(v)) return values_.extents.First(v);
  if (const auto it = outside_.find(v); it != outside_.end()) return it->second;
  const Inst* inst = values_.defs.Inst(v);
  if (inst == nullptr || f_.TypeOf(v) != ir::Type::I64()) return {};
  if (inst->op == Op::Dim) {
    const auto made = values_.made.find(values_.Root(inst->args[0]).id);
    if (made != values_.made.end()) return made->second.shape[inst->bits];
  }
  if ((ir::Info(inst->op).flags & ir::kPure) == 0) return {};
  Inst copy = *inst;
  bool known = true;
  ir::ForEachOperand(copy, [&](Value& u) {
    const bool may_be = f_.TypeOf(u).IsScalar() || values_.IsOutside(values_.Root(u));
    const Value outside = may_be ? Outside(u) : Value();
    known &= outside.valid();
    if (outside.valid()) u = outside;
  });
  if (!known) return {};
  copy.results = {f_.NewLike(f_, v)};
  outside_[v] = copy.results[0];
  out_.push_back(std::move(copy));
  return outside_[v];
}

bool TurnSizes::IsSize(Value v) const {
  v = values_.Root(v);
  const Inst* inst = values_.defs.Inst(v);
  if (inst != nullptr && inst->op == Op::Dim) return true;
  const Affine form = values_.FormOf(v);
  return (form.IsConst() && form.constant >= 0) || IsNotNegative(form, values_.defs);
}

std::optional<ir::Values> TurnSizes::Extents(ir::ValueSpan values) {
  ir::Values extents;
  for (Value v : values) {
    extents.push_back(Extent(v));
    if (!extents.back().valid()) return std::nullopt;
  }
  return extents;
}

// --- ranges of counters

void TurnSizes::Enter(const CountedNest& nest, const NestPath& around) {
  if (std::optional<TurnRange> range = Range(nest, around)) ranges_[&nest] = *std::move(range);
}

const TurnRange* TurnSizes::RangeOf(const CountedNest* nest) const {
  const auto it = ranges_.find(nest);
  return it == ranges_.end() ? nullptr : &it->second;
}

ir::Values TurnSizes::ExtentsOf(const NestPath& around) const {
  ir::Values extents;
  for (const CountedNest* nest : around) extents.push_back(ranges_.at(nest).extent);
  return extents;
}

// Its turns are never more than the extent, and their counters not negative.
std::optional<TurnRange> TurnSizes::Range(const CountedNest& nest, const NestPath& around) {
  constexpr int64_t kMostFirst = 16;  // that is but a condition on turns from 0 on
  TurnRange range;
  const Affine counter = Affine::Of(nest.counter);
  const Affine first = values_.FormOf(nest.first);
  range.end = values_.FormOf(nest.bound);
  if (const auto lasts = BoundsOf(nest.bound, Op::Min), firsts = BoundsOf(nest.first, Op::Max);
      lasts.size() + firsts.size() > 2)
    return RangeBetween(counter, firsts, lasts, around);
  if (!IsStart(first, around)) return std::nullopt;
  ir::Appender out(f_, out_, 0);
  if (const Affine turns = range.end - first;
      turns.IsConst() && !(first.IsConst() && first.constant <= kMostFirst)) {
    range.first = first;
    range.extent = out.Number(Affine::Const(std::max<int64_t>(turns.constant, 0)));
    return range;
  }
  const Value bound = Outside(nest.bound);
  const auto at_least_0 = [&](Value v) {
    return out.Make(Op::Max, ir::Type::I64(), {v, out.Number(Affine::Const(0))});
  };
  if (bound.valid()) range.extent = IsSize(nest.bound) ? bound : at_least_0(bound);
  if (bound.valid() && AreOutside(first) && !first.IsConst()) {
    range.first = first;
    range.extent = at_least_0(out.Number(Affine::Of(range.extent) - first));
    return range;
  }
  if (first != Affine::Const(0)) range.at_least_0.push_back(counter - first);
  if (bound.valid()) return range;
  range.at_least_0.push_back(range.end - counter - Affine::Const(1));
  SetExtentOver(around, range);
  return range.extent.valid() ? std::optional(range) : std::nullopt;
}

// What the integer is the greatest, or the least, of.
std::vector<Affine> TurnSizes::BoundsOf(Value v, Op op) const {
  constexpr size_t kMost = 4;
  std::vector<Affine> bounds;
  std::vector<Value> left = {values_.Root(v)};
  while (!left.empty()) {
    const Value next = left.back();
    left.pop_back();
    const Inst* inst = values_.defs.Inst(next);
    if (inst != nullptr && inst->op == op && bounds.size() + left.size() < kMost &&
        !values_.IsOutside(next)) {
      for (Value arg : inst->args) left.push_back(values_.Root(arg));
    } else {
      bounds.push_back(values_.FormOf(next));
    }
  }
  return bounds;
}

// Of max(0, i - 2)..min(n, i + 3): five turns from i - 2 on, but for those that are none.
std::optional<TurnRange> TurnSizes::RangeBetween(const Affine& counter,
                                                 const std::vector<Affine>& firsts,
                                                 const std::vector<Affine>& lasts,
                                                 const NestPath& around) {
  TurnRange range;
  const auto end = std::find_if(lasts.begin(), lasts.end(),
                                [&](const Affine& last) { return AreOutside(last); });
  const bool is_start = std::any_of(firsts.begin(), firsts.end(),
                                    [&](const Affine& first) { return IsStart(first, around); });
  if (end == lasts.end() || !is_start) return std::nullopt;
  range.end = *end;
  ir::Appender out(f_, out_, 0);
  for (const Affine& first : firsts) {
    for (const Affine& last : lasts) {
      const Affine turns = last - first;
      if (range.extent.valid() || !turns.IsConst() || first.IsConst()) continue;
      range.first = first;
      range.extent = out.Number(Affine::Const(std::max<int64_t>(turns.constant, 0)));
    }
  }
  if (!range.extent.valid()) {
    range.extent =
        out.Make(Op::Max, ir::Type::I64(), {out.Number(*end), out.Number(Affine::Const(0))});
  }
  for (const Affine& first : firsts) range.at_least_0.push_back(counter - first);
  for (const Affine& last : lasts) range.at_least_0.push_back(last - counter - Affine::Const(1));
  return range;
}

bool TurnSizes::AreOutside(const Affine& form) const {
  return std::all_of(form.terms.begin(), form.terms.end(),
                     [&](const Affine::Term& t) { return values_.IsOutside(t.value); });
}

// Of sums of counters of loops around it, and of what is not negative.
bool TurnSizes::IsStart(const Affine& first, const NestPath& around) const {
  Affine rest = first;
  for (const CountedNest* nest : around) {
    if (first.Coeff(nest->counter) < 0) return false;
    rest = rest.Substitute(nest->counter, Affine::Const(0));
  }
  return rest.IsConst() ? rest.constant >= 0 : IsNotNegative(rest, values_.defs);
}

// What i + 1, or n - i, is no more than: the extent of i, and n.
void TurnSizes::SetExtentOver(const NestPath& around, TurnRange& range) {
  Affine rest = range.end;
  const TurnRange* of_turn = nullptr;
  for (const CountedNest* nest : around) {
    const int64_t coeff = range.end.Coeff(nest->counter);
    if (coeff == 0) continue;
    rest = rest.Substitute(nest->counter, Affine::Const(0));
    if (coeff < 0) continue;
    const TurnRange* other = RangeOf(nest);
    if (coeff != 1 || of_turn != nullptr || other == nullptr) return;
    if (other->first != Affine::Const(0)) return;
    of_turn = other;
  }
  if (of_turn != nullptr) {
    if (rest.IsConst() && rest.constant <= 1) range.extent = of_turn->extent;
    range.end = of_turn->end;
    return;
  }
  if (!AreOutside(rest) || !IsNotNegative(rest, values_.defs)) return;
  range.extent = ir::Appender(f_, out_, 0).Number(rest);
  range.end = rest;
}

bool TurnSizes::IsPlace(const CountedNest* nest, int64_t more, Value extent) const {
  const TurnRange* range = RangeOf(nest);
  if (range == nullptr || more < 0) return false;
  const Affine beyond = values_.FormOf(extent) - range->end;
  return beyond.IsConst() && beyond.constant >= more;
}

bool TurnSizes::IsPlace(int64_t place, Value extent) const {
  const Affine behind = values_.FormOf(extent) - Affine::Const(place + 1);
  return 0 <= place &&
         (behind.IsConst() ? behind.constant >= 0 : IsNotNegative(behind, values_.defs));
}

}  // namespace pullback::opt
