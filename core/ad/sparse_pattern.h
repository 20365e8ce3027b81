// Which elements of a result depend on which elements of a parameter, as code that finds it out when it
// runs: for straight-line code, statement by statement, from the elements that each point reads. Sizes,
// predicates and index arrays are what they are then. What is found holds for all values of floats that
// decide no predicate; it never misses an element.
#pragma once

#include <map>
#include <optional>
#include <vector>

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
  // Sets of columns, [rows, width]: how many (-1: every column), then they in order. The rest of a row is of no
  // account.
  uint32_t own;          // (n, width) -> n rows, each with its own number
  uint32_t join;         // (sets, i, others, j) -> sets with row j of others added to row i
  uint32_t join_rows;    // (sets, others) -> with each row added to that of its number
  uint32_t put;          // (sets, i, others, j) -> with row j of others in place of row i
  uint32_t row;          // (sets, i) -> that row alone
  uint32_t set_starts;   // (sets, m) -> starts of the matrix with m columns
  uint32_t set_columns;  // (sets, starts, m, count) -> its columns
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

class SparsePattern {
 public:
  // `code`: the instructions of the builder's function that stand in front of its place, straight-line.
  SparsePattern(ir::Builder& b, std::vector<ir::Inst> code, const SparseFunctions& functions)
      : b_(b), code_(std::move(code)), functions_(functions) {}

  // Of `result` by `param`, elements numbered row by row. Nothing where something between them is not
  // followed: functions that are called outside of bodies, lists, scans.
  std::optional<SparseRows> Of(ir::Value result, ir::Value param);
  // Whether Of would give rows.
  bool IsFound(ir::Value result, ir::Value param) { return PlansOf(result, param).has_value(); }

 private:
  using Access = PatternAccess;
  using Step = PatternStep;
  struct Plan {
    ir::Value value;
    std::vector<Step> steps;
  };
  class Collector;

  std::vector<bool> Between(ir::Value result, ir::Value param) const;
  std::optional<std::vector<Step>> StepsOf(const ir::Inst& inst, size_t k);
  Step CopyStep(ir::Value from, ir::Value to);
  std::vector<ir::Value> Extents(ir::Value v);
  bool IsFollowed(const Step& step);
  std::optional<std::vector<Plan>> PlansOf(ir::Value result, ir::Value param);
  void Collect(const Plan& plan, ir::Value param);

  ir::Builder& b_;
  const std::vector<ir::Inst> code_;
  const SparseFunctions functions_;
  std::map<ir::Value, std::vector<ir::Value>> extents_;
  std::map<ir::Value, SparseRows> rows_;  // of the parameter that is asked for
};

// Product of the extents.
ir::Value ElementCount(ir::Builder& b, const std::vector<ir::Value>& extents);
// The number of an element, row by row.
ir::Value FlatIndex(ir::Builder& b, const std::vector<ir::Affine>& at,
                    const std::vector<ir::Value>& extents);
// And back: the subscripts of the element of a number.
std::vector<ir::Value> Unflatten(ir::Builder& b, ir::Value number,
                                 const std::vector<ir::Value>& extents);

}  // namespace pullback::ad
