#include "core/eval/statement.h"

#include "core/eval/scalar_ops.h"

namespace pullback::eval {

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

int64_t Points::Offset(size_t first) const {
  uint64_t offset = 0;
  for (size_t axis = first; axis < at_.size(); ++axis) {
    offset = offset * static_cast<uint64_t>(extents_[axis]) + static_cast<uint64_t>(at_[axis]);
  }
  return static_cast<int64_t>(offset);
}

Accumulator::Accumulator(ir::Monoid m, DType t, ArrayRef array, bool prefix, size_t rank)
    : monoid_(m),
      type_(t),
      array_(std::move(array)),
      scalar_(MonoidIdentity(m, t)),
      lanes_used_(prefix && m != ir::Monoid::kGen),
      rank_(rank) {
  const bool counts_terms = !lanes_used_ && m != ir::Monoid::kGen;
  if (counts_terms) touched_.resize(array_ ? static_cast<size_t>(array_->Count()) : 1);
}

uint64_t Accumulator::Join(uint64_t x, uint64_t y) const {
  const uint64_t args[] = {x, y};
  return EvalScalar(MonoidOp(monoid_), type_, args);
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

void Accumulator::Add(int64_t element, const Points& points, uint64_t term, int64_t& ops) {
  if (!lanes_used_) return AddInOrder(element, term, ops);
  // Points come in row-major order, so the terms of one element are next to each other.
  if (element != element_) {
    Flush(ops);
    element_ = element;
    lanes_.fill(MonoidIdentity(monoid_, type_));
  }
  uint64_t& lane = lanes_[static_cast<uint64_t>(points.Offset(rank_)) % lanes_.size()];
  lane = Join(lane, term);
  ++terms_;
}

void Accumulator::AddInOrder(int64_t element, uint64_t term, int64_t& ops) {
  if (monoid_ == ir::Monoid::kGen) return Store(element, term);
  Store(element, Join(Load(element), term));
  if (touched_[static_cast<size_t>(element)]) ops += CostOf(1);
  touched_[static_cast<size_t>(element)] = true;
}

void Accumulator::Flush(int64_t& ops) {
  if (element_ < 0) return;
  const auto& l = lanes_;
  const uint64_t even = Join(Join(l[0], l[4]), Join(l[2], l[6]));
  const uint64_t odd = Join(Join(l[1], l[5]), Join(l[3], l[7]));
  Store(element_, Join(even, odd));
  ops += CostOf(terms_ - 1);
  element_ = -1;
  terms_ = 0;
}

Slot Accumulator::Finish(int64_t& ops) {
  Flush(ops);
  if (array_) return Slot(std::move(array_));
  return Slot(scalar_);
}

}  // namespace pullback::eval
