// The points of a tensor statement as loops: which indices are loops, which are computed from
// others, what bounds the loops have, and what remains to be tested where.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/loops/bounds.h"

namespace pullback::loops {

// var >= ceil(e / divisor) or var <= floor(e / divisor).
struct Limit {
  ir::Affine e;
  int64_t divisor = 1;
};

// var + e >= 0 (coeff 1) or e - var >= 0 (coeff -1) where that may wrap.
struct WrappingLimit {
  ir::Affine e;
  int64_t coeff = 1;
};

struct SpaceIndex {
  ir::Value var;
  ir::Value extent;
  // The number of open loops at which it is known; a loop counts itself.
  int level = 0;
  // Not a loop: var = value / divisor, where the tests hold.
  bool pinned = false;
  ir::Affine value;
  int64_t divisor = 1;
  // Of a loop, besides 0 and the extent.
  std::vector<Limit> lower, upper;
  std::vector<WrappingLimit> wrapping;

  bool IsWholeLoop() const { return !pinned && lower.empty() && upper.empty() && wrapping.empty(); }
};

// Made where `level` loops are open.
struct SpaceTest {
  ir::Constraint c;
  int64_t divisor = 0;  // when not 0: c.e is a multiple of it, instead
  int level = 0;
};

struct Space {
  std::vector<SpaceIndex> indices;  // in the statement's order
  std::vector<SpaceTest> tests;
  int depth = 0;  // loops

  // Whether the points are all those of a box of loops.
  bool IsBox() const;
  // `e` in terms of loops and of what is outside, as far as pinned indices are affine.
  ir::Affine Resolve(ir::Affine e) const;
  int LevelOf(const ir::Affine& e) const;
  const SpaceIndex* Find(ir::Value var) const;
};

// Adds to `bounds` what holds at which level.
Space PlanSpace(const ir::Each& each, Bounds& bounds);

}  // namespace pullback::loops
