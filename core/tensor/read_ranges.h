// Which reads of arrays are in range at every point of their statements, as the function's text tells.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/outer_values.h"
#include "core/ir/axis_extents.h"
#include "core/ir/ir.h"

namespace pullback::tensor {

class ReadRanges {
 public:
  explicit ReadRanges(const ir::Function& f);

  // Whether 0 <= sub < extent wherever the reader has a point and the guard, where there is one, holds. `known`: of values
  // outside, what has been checked in front of the reader.
  bool IsInRange(const ir::Each& reader, ir::Value guard, const ir::Affine& sub, ir::Value extent,
                 ir::ConstraintSpan known = {}) const;
  bool IsFromZero(const ir::Each& reader, ir::Value guard, const ir::Affine& sub,
                  ir::ConstraintSpan known = {}) const;
  bool IsBelow(const ir::Each& reader, ir::Value guard, const ir::Affine& sub, ir::Value extent,
               ir::ConstraintSpan known = {}) const;
  // The same of a read, by each axis from one on, of an array of that shape, or of what dims tell of it.
  bool IsInRange(const ir::Each& reader, const ir::Inst& read, ir::ValueSpan shape,
                 size_t from = 0) const;

  // Of the reader's first point, at which all indices are 0, if it has one: whether the condition holds, if what is known
  // of values outside does; nothing: unknown.
  std::optional<bool> HoldsAtFirst(const ir::Each& reader, ir::Value condition,
                                   ir::ConstraintSpan known) const;
  std::optional<bool> HoldsAtFirst(const ir::Each& reader, const ir::Constraint& c,
                                   ir::ConstraintSpan known) const;
  // Whether no point of the reader is where the guard and what is known hold.
  bool IsNever(const ir::Each& reader, ir::Value guard, ir::ConstraintSpan known) const {
    return IsFromZero(reader, guard, ir::Affine::Const(-1), known);
  }

 private:
  // Whether 0 <= sub (`from`), or sub < extent, as the predicates around it tell.
  bool Proves(const ir::Each& reader, ir::Value guard, const ir::Affine& sub, ir::Value extent,
              bool from, ir::ConstraintSpan known = {}) const;
  bool IsIndexOf(const ir::Each& reader, const ir::Affine& sub, ir::Value extent) const;

  const analysis::OuterValues outer_;
  const ir::AxisExtents extents_;
  const std::vector<std::pair<ir::Value, ir::Value>> equal_;  // that the entry checks
};

}  // namespace pullback::tensor
