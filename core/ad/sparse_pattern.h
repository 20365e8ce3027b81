// Which elements of a result depend on which elements of a parameter, as code that finds it out when it
// runs: for straight-line code, statement by statement, from the elements that each point reads. Sizes,
// predicates and index arrays are what they are then. What is found holds for all values of floats that
// decide no predicate; it never misses an element.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/ad/float_flow.h"
#include "core/analysis/outer_values.h"
#include "core/ir/builder.h"

namespace pullback::ad {

// Functions of a library (core/pipeline/sparse_library.h). A matrix by rows is (starts, columns): those of
// row i are columns[starts[i]], …, up to starts[i + 1]; columns may be longer than what is in use.
struct SparseFunctions {
  uint32_t bucket;  // (key, count, n) -> (starts, order): numbers of the first `count` keys, by key
  uint32_t unique;  // (row, column, n, m) -> by rows, none twice
  uint32_t transposed;  // (starts, columns, m) -> by columns, in order
  uint32_t
      colours;  // (starts, columns, ends, rows) -> (colour by column, -1 of an empty one; how many)
  uint32_t numbers;  // (starts, count) -> the row of each of the `count` elements
  uint32_t widest;   // (starts) -> the most elements in a row
  // Scans: rows are points in their order, and each `group` of them starts anew.
  uint32_t
      scanned_starts;  // (starts, columns, group, m) -> starts of what all points in front have
  uint32_t scanned_columns;  // (starts, columns, group, m, those starts, count) -> its columns
  // Sets of columns, [rows, width]: how many intervals, then their first columns and ends, in order, none that
  // touches another. What is behind them is of no account. Where there is no room for one more, the two that
  // are closest become one, so that a set may hold more than was put into it.
  uint32_t set_width;  // (columns, numbers, least, most) -> width, for so many intervals, of
                       // which `columns` rows have about that many numbers
  uint32_t own;   // (n, first, width) -> n rows, each with its own number, counted from `first`
  uint32_t join;  // (sets, i, others, j) -> sets with row j of others added to row i
  uint32_t join_rows;     // (sets, others) -> with each row added to that of its number
  uint32_t put;           // (sets, i, others, j) -> with row j of others in place of row i
  uint32_t row;           // (sets, i) -> that row alone
  uint32_t scanned_sets;  // (terms, group) -> for each point of a scan those of all points in front
  uint32_t through;  // (sets, first, steps, others) -> with row j of others added to each row i for
                     // which `first` + i is in row j of steps
  uint32_t everywhere;   // (sets, others) -> with all rows of others added to every row
  uint32_t set_starts;   // (sets) -> starts of the matrix
  uint32_t set_columns;  // (sets, starts, count) -> its columns
};

struct SparseRows {
  ir::Value starts, columns;
};

// What elements of a value are computed from.
struct PatternAccess {
  ir::Value source;
  std::vector<ir::Affine> at;
  std::vector<ir::Value> guards;
};
// One element of a value for every point, from accesses of other values.
struct PatternStep {
  ir::Each points;
  std::vector<ir::Affine> to;
  std::vector<PatternAccess> reads;
};
// Of result k of a statement of f. A guarded value counts only where its guard is true.
PatternStep StatementStep(const ir::Function& f, const ir::Inst& inst, size_t k);
// A scan is three steps: its points, in order, from what they read; their states, each from all points in front;
// what it stores, from the states. The first and the last, where `points` stands for an array of the points.
PatternStep ScanTerms(const ir::Function& f, const ir::Inst& inst, size_t k);
PatternStep ScanStored(const ir::Inst& inst, size_t k, ir::Value points);
// How many points, in order, start anew together.
ir::Value ScanGroup(ir::Builder& b, const ir::Inst& inst, size_t k);

class SparsePattern {
 public:
  // `code`: the instructions of the builder's function, which are straight-line and stand in front of its place.
  SparsePattern(ir::Builder& b, std::vector<ir::Inst> code, const SparseFunctions& functions)
      : b_(b),
        code_(std::move(code)),
        functions_(functions),
        flow_(b.module(), b.function(), code_),
        outer_(b.function()) {}

  // Of `result` by `param`, elements numbered row by row. Nothing where something between them is not
  // followed: functions that are called outside of bodies, and lists.
  std::optional<SparseRows> Of(ir::Value result, ir::Value param);
  // Whether Of would give rows.
  bool IsFound(ir::Value result, ir::Value param) { return PlansOf(result, param).has_value(); }
  // Nothing of `result` depends on `param`: no rows have elements.
  bool IsEmpty(ir::Value result, ir::Value param) { return !flow_.Depends(result, param); }

 private:
  using Access = PatternAccess;
  using Step = PatternStep;
  struct Plan {
    ir::Value value;
    std::vector<Step> steps;
    // Of the states of a scan instead: what its points add, and how many points start anew together.
    ir::Value terms = ir::kNoValue, group = ir::kNoValue;
  };
  class Collector;

  std::optional<std::vector<Step>> StepsOf(const ir::Inst& inst, size_t k);
  ir::Value Points(const ir::Each& each);
  std::vector<Plan> ScanPlans(const ir::Inst& inst, size_t k);
  Step CopyStep(ir::Value from, ir::Value to);
  std::vector<ir::Value> Extents(ir::Value v);
  bool IsFollowed(const Step& step);
  std::optional<std::vector<Plan>> PlansOf(ir::Value result, ir::Value param);
  void Collect(const Plan& plan, ir::Value param);
  SparseRows Scanned(const Plan& plan, ir::Value param);

  ir::Builder& b_;
  const std::vector<ir::Inst> code_;
  const SparseFunctions functions_;
  FloatFlow flow_;
  const analysis::OuterValues outer_;  // of the code alone, which statements are of
  std::map<ir::Value, std::vector<ir::Value>> extents_;
  std::map<ir::Value, SparseRows> rows_;  // of the parameter that is asked for
};

// Product of the extents.
ir::Value ElementCount(ir::Builder& b, const std::vector<ir::Value>& extents);
// The number of an element, row by row.
ir::Value FlatIndex(ir::Builder& b, ir::AffineSpan at, const std::vector<ir::Value>& extents);
// And back: the subscripts of the element of a number.
std::vector<ir::Value> Unflatten(ir::Builder& b, ir::Value number,
                                 const std::vector<ir::Value>& extents);

}  // namespace pullback::ad
