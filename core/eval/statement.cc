#include "core/eval/statement.h"
#include "core/ir/monoid.h"

#include "core/eval/scalar_ops.h"

namespace pullback::eval {

using ir::Op;

bool Points::Next() {
  if (!started_) {
    started_ = true;
    return std::all_of(extents_.begin(), extents_.end(), [](int64_t n) { return n > 0; });
  }
  for (size_t axis = extents_.size(); axis-- > 0;) {
    if (++at_[axis] < extents_[axis]) return true;
    at_[axis] = 0;
  }
  return false;
}

int64_t Points::Offset(size_t first) const { return OffsetIn(first, at_.size()); }

int64_t Points::OffsetBefore(size_t end) const { return OffsetIn(0, end); }

size_t Points::CountLast(size_t axes) const {
  size_t count = 1;
  for (size_t axis = at_.size() - axes; axis < at_.size(); ++axis)
    count *= static_cast<size_t>(extents_[axis]);
  return count;
}

int64_t Points::OffsetIn(size_t first, size_t end) const {
  uint64_t offset = 0;
  for (size_t axis = first; axis < end; ++axis) {
    offset = offset * static_cast<uint64_t>(extents_[axis]) + static_cast<uint64_t>(at_[axis]);
  }
  return static_cast<int64_t>(offset);
}

Accumulator::Accumulator(const ir::Each& each, const ir::EachResult& r, DType t, ArrayRef array)
    : monoid_(r.monoid),
      type_(t),
      array_(std::move(array)),
      scalar_(ir::ResultIdentity(r.monoid, t)),
      run_(ir::CountInRuns(each, r)),
      lanes_used_(run_ > 0 ||
                  (ir::IsPrefixForm(each, r) && !ir::Stores(r) && !ir::IsArg(r.monoid))),
      adds_(r.into.valid()),
      rank_(r.out.size()),
      outer_(r.outer),
      inner_(r.inner) {
  const bool counts_terms =
      !ir::Stores(r) && !ir::IsArg(r.monoid) && (run_ > 0 || !lanes_used_) && !adds_;
  if (ir::IsArg(monoid_) && !ir::IsPrefixForm(each, r)) {
    searched_ = ir::OnlyIndexReduced(each, r);
    best_.resize(static_cast<size_t>(array_->Count()));
  }
  if (counts_terms) touched_.resize(array_ ? static_cast<size_t>(array_->Count()) : 1);
}

uint64_t Accumulator::Join(uint64_t x, uint64_t y) const {
  const uint64_t args[] = {x, y};
  return EvalScalar(ir::MonoidOp(monoid_), type_, args);
}

uint64_t Accumulator::Load(int64_t element) const {
  return array_ ? array_->Load(element) : scalar_;
}

void Accumulator::Store(int64_t element, uint64_t bits) {
  if (array_) {
    array_->Store(element, bits);
  } else {
    scalar_ = bits;
  }
}

int64_t Accumulator::CostOf(int64_t joins) const { return type_ == DType::kI64 ? 0 : joins; }

void Accumulator::Add(int64_t element, const Points& points, uint64_t term, uint64_t second,
                      int64_t& ops) {
  if (ir::IsScan(monoid_)) return AddToScan(element, points, term, second, ops);
  if (ir::IsArg(monoid_)) return AddCandidate(element, points, term, ops);
  if (!lanes_used_) return AddInOrder(element, term, ops);
  // Points come in row-major order, so the terms of one element, or of one of its runs, are next to each other.
  const int64_t run = run_ > 0 ? points.OffsetBefore(points.axes() - run_) : -1;
  if (element != element_ || run != run_at_) {
    Flush(ops);
    element_ = element;
    run_at_ = run;
    lanes_.fill(ir::MonoidIdentity(monoid_, type_));
  }
  const size_t first = run_ > 0 ? points.axes() - run_ : rank_;
  uint64_t& lane = lanes_[static_cast<uint64_t>(points.Offset(first)) % lanes_.size()];
  lane = Join(lane, term);
  ++terms_;
}

void Accumulator::AddTo(int64_t element, uint64_t term, int64_t& ops) {
  const uint64_t args[] = {Load(element), term};
  Store(element, EvalScalar(Op::Add, type_, args));
  ops += CostOf(1);
}

void Accumulator::AddInOrder(int64_t element, uint64_t term, int64_t& ops) {
  if (adds_) return AddTo(element, term, ops);
  if (monoid_ == ir::Monoid::kGen) return Store(element, term);
  Store(element, Join(Load(element), term));
  if (touched_[static_cast<size_t>(element)]) ops += CostOf(1);
  touched_[static_cast<size_t>(element)] = true;
}

// The first term of a group is joined to the identity, which costs nothing.
void Accumulator::AddToScan(int64_t element, const Points& points, uint64_t term, uint64_t second,
                            int64_t& ops) {
  const int64_t group = points.OffsetBefore(outer_);
  if (group != element_) {
    element_ = group;
    states_.assign(points.CountLast(inner_), ir::MonoidIdentity(monoid_, type_));
    started_.assign(states_.size(), false);
  }
  const auto place = static_cast<size_t>(points.Offset(points.axes() - inner_));
  uint64_t& state = states_[place];
  const bool fresh = !started_[place];
  started_[place] = true;
  Store(element, state);
  if (monoid_ != ir::Monoid::kScanLinear) {
    ops += CostOf(fresh ? 0 : 1);
    state = Join(state, term);
    return;
  }
  ops += CostOf(fresh ? 0 : 2);
  const uint64_t factors[] = {state, term};
  const uint64_t terms[] = {EvalScalar(Op::SMul, type_, factors), second};
  state = EvalScalar(Op::Add, type_, terms);
}

bool Accumulator::IsBetter(uint64_t term, uint64_t best) const {
  const auto holds = [this](Op op, uint64_t x, uint64_t y) {
    const uint64_t args[] = {x, y};
    return EvalScalar(op, type_, args) != 0;
  };
  if (holds(Op::Ne, best, best)) return false;
  if (holds(Op::Ne, term, term)) return true;
  return holds(monoid_ == ir::Monoid::kArgMax ? Op::Gt : Op::Lt, term, best);
}

void Accumulator::AddCandidate(int64_t element, const Points& points, uint64_t term, int64_t& ops) {
  const bool fresh = searched_ ? static_cast<int64_t>(Load(element)) < 0 : element != element_;
  uint64_t& best = searched_ ? best_[static_cast<size_t>(element)] : state_;
  ops += CostOf(fresh ? 0 : 1);
  if (!fresh && !IsBetter(term, best)) return;
  element_ = element;
  best = term;
  Store(element, static_cast<uint64_t>(searched_ ? points[*searched_] : points.Offset(rank_)));
}

bool Accumulator::IsZero(uint64_t bits) const {
  const uint64_t args[] = {bits, 0};
  return EvalScalar(Op::Eq, type_, args) != 0;
}

void Accumulator::Flush(int64_t& ops) {
  if (element_ < 0 || !lanes_used_) return;
  const auto& l = lanes_;
  const uint64_t even = Join(Join(l[0], l[4]), Join(l[2], l[6]));
  const uint64_t odd = Join(Join(l[1], l[5]), Join(l[3], l[7]));
  const uint64_t total = Join(even, odd);
  ops += CostOf(terms_ - 1);
  if (adds_) {
    if (!IsZero(total)) AddTo(element_, total, ops);
  } else if (run_ > 0) {
    AddInOrder(element_, total, ops);
  } else {
    Store(element_, total);
  }
  element_ = -1;
  terms_ = 0;
}

Slot Accumulator::Finish(int64_t& ops) {
  Flush(ops);
  if (array_) return Slot(std::move(array_));
  return Slot(scalar_);
}

}  // namespace pullback::eval
