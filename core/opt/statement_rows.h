// Where the reads in a statement's body are, next to the row that it makes and in the array: of subscripts that are sums, i - 1, or one
// of several sums by cases, max(0, i - 1) (core/analysis/sub_cases.h).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/outer_values.h"
#include "core/analysis/sub_cases.h"
#include "core/ir/axis_extents.h"
#include "core/ir/ir.h"
#include "core/opt/turn_rows.h"

namespace pullback::opt {

class StatementRows {
 public:
  explicit StatementRows(const ir::Function& f)
      : f_(f), outer_(f), equal_(ir::CheckedEqual(f.blocks[0])) {}

  // From step * row, of an index of the statement, + first to step * row + last; nothing: not known to be within `most` of it.
  std::optional<RowSpan> SpanOf(const ir::Each& each, const ir::Inst& read, ir::Value row,
                                int64_t step, int64_t most) const;
  // Whether the read's subscript is surely one of an axis that long.
  bool IsThere(const ir::Each& each, const ir::Inst& read, size_t axis, ir::Value extent) const;

 private:
  struct Known {
    std::vector<analysis::SubCase> cases;
    std::vector<ir::Constraint> where;
    analysis::Box box;
  };
  // What is known where the read is made.
  std::optional<Known> KnownAt(const ir::Each& each, const ir::Inst& read, size_t axis) const;

  const ir::Function& f_;
  const analysis::OuterValues outer_;
  const std::vector<std::pair<ir::Value, ir::Value>>
      equal_;  // that the entry checks; where they are not, the run ends
};

}  // namespace pullback::opt
