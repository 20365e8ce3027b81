// Loops that copy an array into a part of another, element by element, or add it there:
//
//   b0:  jump b1(0, %y)
//   b1(%k, %a):  br lt(%k, %n), b2, b3
//   b2:  %b = update %a[%i, %k], index(%row[%k])
//        jump b1(add(%k, 1), %b)
//
// Several axes are loops within each other.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::loops {

// How often a function's values are used, and which are constants.
class Uses {
 public:
  explicit Uses(const ir::Function& f);
  int CountOf(ir::Value v) const { return count_[v.id]; }
  bool IsConst(ir::Value v, int64_t k) const { return constants_[v.id] == k; }
  // The same value, or the same constant.
  bool AreSame(ir::Value a, ir::Value b) const {
    return a == b || (constants_[a.id] && constants_[a.id] == constants_[b.id]);
  }

 private:
  std::vector<int> count_;
  std::vector<std::optional<int64_t>> constants_;
};

struct CopyLoop {
  uint32_t header = 0;
  ir::Value counter, bound;  // from 0
  ir::Value array;           // at the header
  ir::Value next;            // the counter's
};

struct Copy {
  uint32_t before = 0;
  std::vector<CopyLoop> loops;   // the outermost first
  std::vector<uint32_t> blocks;  // of the nest
  ir::Value from;                // its subscripts are the counters, in order
  ir::Value to;                  // in front of the nest
  std::vector<ir::Affine> subs;  // of the element that takes it
  bool adds = false, negates = false;
  uint32_t loc = 0;  // of the update
};

class CopyFinder {
 public:
  CopyFinder(const ir::Function& f, const Uses& uses);
  // The nest that the block jumps to, if it is one. `f`: the function now; what `uses` says of this part
  // still holds.
  std::optional<Copy> Find(const ir::Function& f, uint32_t before);

 private:
  const ir::Block& At(uint32_t block) const { return f_->blocks[block]; }
  bool Enter(const ir::Edge& entry);
  const ir::Edge* Inside();
  bool IsStep(const ir::Inst& inst, CopyLoop& loop) const;
  bool OnlySteps(uint32_t block, CopyLoop& loop) const;
  bool GoesBack(uint32_t block, const CopyLoop& loop, ir::Value array) const;
  bool IsRead(const ir::Inst& inst) const;
  bool IsElement(uint32_t block);
  bool IsLeft();
  bool CountersAreAlone() const;

  const ir::Function* f_ = nullptr;
  const Uses& uses_;
  std::vector<int> entries_;  // of blocks
  Copy copy_;
  bool found_ = false;  // the element that is copied
};

}  // namespace pullback::loops
