// Arrays that may be larger than any of the function's own, and the statements of a block that make and read them. If
// all of these go along one axis of the arrays, each by an index of its own, and run over that index first, a turn needs
// what one turn makes (core/loops/fuse_rows.h). Such an axis is looked for among the axes that reads tie together:
//
//   t = each(a < h, i < n, j < d, k < c): sum [a, i, j]: x[i, k] * w[a, k, j]      a ties the statements, and so does i
//   g = each(i < n, k < c, a < h, j < d): sum [i, k]: cos(t[a, i, j]) * w[a, k, j]
//
// Within the turns of such a loop the same is looked for once more, at depth 1: of arrays that are by rows, of which the
// rows of one turn may be too large, an index that comes behind the first.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/ir/known_extents.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/made_arrays.h"

namespace pullback::tensor {

// What makes the statements run over one index first. Statements are told by their place in the block.
struct RowPlan {
  std::map<size_t, ir::Value> first;  // by statement that runs over another one first now
  std::map<ir::Value, size_t>
      axes;  // by array: the axis that comes first; its readers' subscripts, too
  std::set<size_t>
      split;  // sums over that index and others: each turn's sum is to be one of its own
};

// These axes of the arrays that the statement makes and reads come first, behind `depth` others.
void TurnAxes(ir::Inst& statement, const std::map<ir::Value, size_t>& axes, size_t depth);
// The statement runs over the index first, behind `depth` others. A scan over that index alone then has a state for each
// point of those behind it.
void BringIndexTo(ir::Each& each, size_t depth, ir::Value index);

class RowGroups {
 public:
  // `elsewhere`: ir::UsedElsewhere, of the values that there were then; others are used in the block alone. `depth`: how
  // many loops around their statements the arrays of a group are by rows of.
  RowGroups(const ir::Function& f, const std::vector<ir::Inst>& insts, const ir::OwnArrays& own,
            const ir::KnownExtents& extents, const std::vector<bool>& elsewhere, size_t depth);

  // For each group of arrays for which there is one, by which fewer of its arrays, the largest first, are kept for
  // more than a turn.
  std::vector<RowPlan> Plans() const;

 private:
  using Group = std::vector<ir::Value>;
  class Axes;
  class Search;

  void KeepRowsOf(size_t loop);
  const ir::EachResult& ResultOf(const MadeArray& array) const {
    return tensor::ResultOf(insts_, array);
  }
  std::vector<Group> FindGroups() const;
  // Whether a turn reads rows that are made in it or some turns away, which a window of rows keeps.
  bool IsNear(const ir::Each& each, const ir::Affine& sub, ir::Value index) const;

  const ir::Function& f_;
  const std::vector<ir::Inst>& insts_;
  const ir::OwnArrays& own_;
  const size_t depth_;
  const ir::KnownExtents& extents_;
  MadeArrays arrays_;
};

}  // namespace pullback::tensor
