// The state of one tensor statement while it runs. A body may call a function, which runs in a frame
// of its own, so a statement is a machine that can be left in the middle of a body and taken up again.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/eval/heap.h"
#include "core/ir/ir.h"

namespace pullback::eval {

// The iteration space: all points in row-major order.
class Points {
 public:
  explicit Points(std::vector<int64_t> extents)
      : extents_(std::move(extents)), at_(extents_.size()) {}

  // Steps to the first point, then to the next; false at the end.
  bool Next();
  int64_t operator[](size_t axis) const { return at_[axis]; }
  // Row-major offset in the box of the axes from `first` on.
  int64_t Offset(size_t first) const;
  // Row-major offset in the box of the axes before `end`.
  int64_t OffsetBefore(size_t end) const;
  // How many points the last axes have.
  size_t CountLast(size_t axes) const;
  size_t axes() const { return at_.size(); }

 private:
  int64_t OffsetIn(size_t first, size_t end) const;

  std::vector<int64_t> extents_;
  std::vector<int64_t> at_;
  bool started_ = false;
};

// One result: takes terms in the order of the points.
class Accumulator {
 public:
  // `t` is the type of the terms. `array` is null for a scalar result; its elements must hold the
  // identity, or be those of r.into.
  Accumulator(const ir::Each& each, const ir::EachResult& r, DType t, ArrayRef array);

  // A term for the element at row-major offset `element`; `points` says which lane it joins. Adds
  // the cost of joining it to `ops`. `second`: of scan_linear.
  void Add(int64_t element, const Points& points, uint64_t term, uint64_t second, int64_t& ops);
  // The result, once all terms are in.
  Slot Finish(int64_t& ops);

 private:
  void Flush(int64_t& ops);
  void AddTo(int64_t element, uint64_t term, int64_t& ops);
  bool IsZero(uint64_t bits) const;
  void AddInOrder(int64_t element, uint64_t term, int64_t& ops);
  void AddToScan(int64_t element, const Points& points, uint64_t term, uint64_t second,
                 int64_t& ops);
  void AddCandidate(int64_t element, const Points& points, uint64_t term, int64_t& ops);
  bool IsBetter(uint64_t term, uint64_t best) const;
  uint64_t Join(uint64_t x, uint64_t y) const;
  void Store(int64_t element, uint64_t bits);
  uint64_t Load(int64_t element) const;
  int64_t CostOf(int64_t joins) const;

  ir::Monoid monoid_;
  DType type_;
  ArrayRef array_;
  uint64_t scalar_;
  size_t run_;  // in no prefix form: of how many of the last axes the points of a run are
  bool lanes_used_;
  bool adds_;  // to what the array held
  size_t rank_;
  size_t outer_, inner_;
  // The element whose terms are in the lanes; -1: none. Of a run: which one it is.
  int64_t element_ = -1;
  int64_t run_at_ = -1;
  int64_t terms_ = 0;
  std::array<uint64_t, 8> lanes_{};
  uint64_t state_ = 0;  // of argmax and argmin: the best term of `element_`
  // Of a scan: the states in the group of points that `element_` counts, and which of them have a term.
  std::vector<uint64_t> states_;
  std::vector<bool> started_;
  // Of argmax and argmin whose elements' terms come in turns: the axis of the points that is searched; the best terms.
  std::optional<size_t> searched_;
  std::vector<uint64_t> best_;
  std::vector<bool> touched_;  // without lanes: which elements have a term
};

struct StatementRun {
  const ir::Inst* inst = nullptr;
  Points points{{}};
  std::vector<Accumulator> results;
  std::vector<std::vector<int64_t>> shapes;
  bool in_point = false;
  size_t body = 0;  // next instruction of the body
};

}  // namespace pullback::eval
