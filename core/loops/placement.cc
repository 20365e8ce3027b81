#include "core/loops/placement.h"

#include <algorithm>

#include "core/loops/results.h"

namespace pullback::loops {

using ir::Affine;
using ir::Op;
using ir::Type;

void Placement::Begin(bool late, const ResultPlan& plan) {
  extents_ = c_.l.Extents(array_);
  late_ = late;
  for (size_t axis = 0; axis < extents_.size(); ++axis) {
    if (!IsProven(axis, plan)) good_ = e_.And(good_, Inside(axis));
  }
  if (!good_.valid()) return;
  for (size_t k = 0; k < d_.axes.size(); ++k) {
    const Reg none = e_.Compare(Op::Le, Count(k), e_.I64(0));
    good_ = e_.Scalar(Op::Or, {good_, none}, Type::Bool());
  }
  if (!late_) Trap();
}

// Of a row whose points are not its whole box only what holds without them counts.
bool Placement::IsProven(size_t axis, const ResultPlan& plan) const {
  const Affine& sub = d_.subs[axis];
  const Affine extent = c_.l.sizes.Extent(array_, static_cast<int>(axis));
  const auto proven = [&](const Affine& e) {
    const int level = c_.bounds.Prove(e);
    if (level == Bounds::kNever) return false;
    if (!plan.complete) return level == 0;
    return plan.mode != ResultPlan::Mode::kLanes || level <= plan.level;
  };
  const auto index = std::find_if(d_.axes.begin(), d_.axes.end(),
                                  [&](const ir::IndexVar& i) { return sub.Coeff(i.var) != 0; });
  if (index == d_.axes.end()) return proven(sub) && proven(extent - Affine::Const(1) - sub);
  const Affine first = sub.Substitute(index->var, Affine::Const(0));
  return sub.Coeff(index->var) == 1 && proven(first) &&
         proven(extent - first - Affine::Of(index->extent));
}

// Both ends are in range, and no more places than that has; then nothing wraps in between.
Reg Placement::Inside(size_t axis) {
  const auto in_range = [&](const Affine& at) {
    const Reg place = e_.Linear(c_.l.Of(at));
    return e_.And(e_.Compare(Op::Ge, place, e_.I64(0)), e_.Compare(Op::Lt, place, extents_[axis]));
  };
  const Affine& sub = d_.subs[axis];
  for (size_t k = 0; k < d_.axes.size(); ++k) {
    if (sub.Coeff(d_.axes[k].var) == 0) continue;
    const Affine last = Affine::Of(d_.axes[k].extent) - Affine::Const(1);
    const Reg ends = e_.And(in_range(sub.Substitute(d_.axes[k].var, Affine::Const(0))),
                            in_range(sub.Substitute(d_.axes[k].var, last)));
    return e_.And(e_.Compare(Op::Le, Count(k), extents_[axis]), ends);
  }
  return in_range(sub);
}

// Loops over the row, in order; `subs` are the element's place there.
std::vector<Reg> Placement::OpenRow(std::vector<Affine>& subs) {
  std::vector<Reg> at;
  for (const Affine& sub : d_.subs) subs.push_back(c_.l.Of(sub));
  for (const ir::IndexVar& i : d_.axes) {
    at.push_back(e_.OpenFor(e_.I64(0), c_.l.Of(i.extent), e_.function().NewReg(Type::I64(), "o")));
    for (Affine& sub : subs) sub = sub.Substitute(c_.l.Of(i.var), Affine::Of(at.back()));
  }
  return at;
}

void Placement::CloseRow() {
  for (size_t k = 0; k < d_.axes.size(); ++k) e_.CloseFor();
}

void Placement::OpenIfInside() {
  if (late_ && good_.valid()) e_.OpenIf(good_);
}

void Placement::CloseIfInside() {
  if (late_ && good_.valid()) e_.CloseIf();
}

void Placement::Fill(Reg value) {
  OpenIfInside();
  std::vector<Affine> subs;
  const std::vector<Reg> at = OpenRow(subs);
  e_.Store(array_, e_.Offset(subs, extents_), value, at, {{}, c_.remainders});
  CloseRow();
  CloseIfInside();
}

void Placement::Put(Reg value, std::vector<Reg> apart, std::vector<Proof> proofs) {
  OpenIfInside();
  const Type t = e_.TypeOf(value);
  std::vector<Affine> subs;
  for (const Affine& sub : d_.subs) subs.push_back(c_.l.Of(sub));
  const Reg offset = e_.Offset(subs, extents_);
  if (d_.negates) value = e_.Scalar(Op::Neg, {value}, t);
  const Emitter::About about{{}, std::move(proofs)};
  if (d_.adds) value = e_.Scalar(Op::Add, {e_.Load(array_, offset, ir::kNoValue, about), value}, t);
  e_.Store(array_, offset, value, std::move(apart), about);
  CloseIfInside();
}

// The first place that is out of range, axis by axis, where there is one.
void Placement::Trap() {
  e_.OpenIf(e_.Scalar(Op::Not, {good_}, Type::Bool()));
  std::vector<Affine> subs;
  OpenRow(subs);
  for (size_t axis = 0; axis < subs.size(); ++axis) {
    c_.l.CheckIndex(e_.Linear(subs[axis]), extents_[axis], d_.loc);
  }
  CloseRow();
  e_.CloseIf();
}

void Placement::End() {
  if (late_ && good_.valid()) Trap();
}

}  // namespace pullback::loops
