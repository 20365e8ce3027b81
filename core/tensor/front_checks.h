// Reads of an array at a row that may not be there, checked in front of their statement: where its first point, if there is one, would
// end the run.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/known_extents.h"
#include "core/tensor/read_ranges.h"

namespace pullback::tensor {

// That a row is no less than 0, or below the extent, or both; where the condition holds, if there is one.
struct RowCheck {
  ir::Affine row;
  ir::Value extent;
  bool from_zero, below;
  std::optional<ir::Constraint> where = {};

  // What holds behind the check, where the reader has a point and the condition holds.
  void AddTo(std::vector<ir::Constraint>& known) const;
  // Appends the read's own trap, unless the reader has no point.
  void Append(const ir::Each& reader, uint32_t loc, ir::Function& f,
              std::vector<ir::Inst>& out) const;
};

class FrontChecks {
 public:
  FrontChecks(const ir::Function& f, const ReadRanges& ranges, const ir::KnownExtents& known)
      : f_(f), ranges_(ranges), known_(known) {}

  // Of that instruction of the reader's body, a read of an array of `shape` at `row`. Asks for what the points themselves do not
  // say; wherever that is not so the first point evaluates the read, before anything that may trap but such reads. Nothing: there
  // it may not. `checked`: what has been checked in front. `places`: of the reader's indices, where the read is at that row.
  std::optional<RowCheck> CheckOf(const ir::Each& reader, size_t inst, const ir::Affine& row,
                                  ir::ValueSpan shape, ir::ConstraintSpan checked,
                                  ir::ConstraintSpan places = {}) const;

 private:
  bool IsReadFirst(const ir::Each& reader, size_t inst, ir::ValueSpan shape,
                   ir::ConstraintSpan known, ir::ConstraintSpan places) const;

  const ir::Function& f_;
  const ReadRanges& ranges_;
  const ir::KnownExtents& known_;
};

}  // namespace pullback::tensor
