// The best term so far of an argmax or argmin: itself and its offset, each in an array of one element. (Of elements whose
// terms come in turns, in an element of two arrays.)
//
// On the CPU one such pair sees all terms. For a device the argmax of a whole array is cut into segments of the
// outermost loop, which have pairs of their own; then the segments' best are compared in the order of the loops.
// The first of equals and the first NaN win in both, so the answer is the same.
#pragma once

#include <functional>

#include "core/loops/emitter.h"

namespace pullback::loops {

// An array of zeros, to be released by its maker.
Reg NewCells(Emitter& e, DType elem, const std::vector<Reg>& extents, uint32_t loc);
Reg NewCells(Emitter& e, DType elem, int64_t count, uint32_t loc);

class Best {
 public:
  // `type`: of the terms.
  Best(Emitter& e, ir::Type type, bool greatest, uint32_t loc)
      : e_(e), type_(type), greatest_(greatest), loc_(loc) {}

  // In front of the nest, and after it.
  void Alloc();
  void Release();
  // No term yet.
  void Begin();
  // Where a best term and its offset are.
  struct Cell {
    Reg values, offsets;
    Reg at;
    std::vector<Reg> apart = {};
    Emitter::About about = {};
  };
  // A term, and what gives its offset where it is better.
  void Compete(Reg value, const std::function<Reg()>& offset) {
    CompeteIn({Now().value, Now().offset, e_.I64(0)}, value, offset);
  }
  void CompeteIn(const Cell& cell, Reg value, const std::function<Reg()>& offset);
  // The offset of the best so far, -1 where there is none.
  Reg Offset(Reg into = ir::kNoValue);

  // Between Alloc and Release: room for the segments; those between Enter and Leave have their own best, and
  // what they leave is joined one by one.
  void AllocSegments(int64_t count);
  void EnterSegment();
  void LeaveSegment(Reg segment);
  void JoinSegment(Reg segment);

 private:
  struct Cells {
    Reg value = ir::kNoValue, offset = ir::kNoValue;
  };
  Cells New(int64_t count);
  const Cells& Now() const { return in_segment_ ? segment_ : all_; }

  Emitter& e_;
  const ir::Type type_;
  const bool greatest_;
  const uint32_t loc_;
  Cells all_, segment_;  // of everything; of the segment that is entered
  Cells segments_;       // what each has left
  bool in_segment_ = false;
};

}  // namespace pullback::loops
