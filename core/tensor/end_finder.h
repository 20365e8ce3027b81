// Of a read by cases (sub_cases.h), `z[max(0, i - 1)]`: where it takes rows in their order, and the few that it takes near the ends of
// its points.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/sub_cases.h"
#include "core/ir/ir.h"
#include "core/tensor/end_rows.h"
#include "core/tensor/front_checks.h"
#include "core/tensor/read_ranges.h"

namespace pullback::tensor {

constexpr int64_t kMostAway = 16;  // rows beyond an end
constexpr size_t kMostEnds = 6;    // together

// The places of a reader's points along an axis: the sum of an index that may run far and of multiples of short ones.
struct PlaceWindow {
  ir::Affine at;
  ir::Affine count;  // how many there are, from 0 on
  ir::Value index;   // which may run far, once in `at`
  ir::Value run;     // how far
};

class EndFinder {
 public:
  struct Found {
    EndedRows rows;                // of which the read takes that at its place
    std::vector<RowCheck> checks;  // in front of the reader, of the array that it reads now
  };

  // Of that instruction of the reader's body, a read of an array of `shape`. `checked`: what is known of values outside.
  EndFinder(const ir::Each& reader, size_t inst, ir::ValueSpan shape, const ReadRanges& ranges,
            const FrontChecks& checks, std::vector<ir::Constraint> checked);

  // The form that the subscript has wherever the array is read, if that is one.
  std::optional<ir::Affine> Decided(const std::vector<analysis::SubCase>& cases) const;

  // Nothing: rows other than a few near the ends are not in the window's order, or some may not be there, and not the first
  // point tells. To be asked once.
  std::optional<Found> Find(const PlaceWindow& window, const std::vector<analysis::SubCase>& cases);

 private:
  // A case whose form is c times the place and something of outside.
  struct Placed {
    const analysis::SubCase* of_case;
    int64_t c;
    ir::Affine rest;
    ir::Affine RowAt(const ir::Affine& place) const { return place * c + rest; }
  };

  std::vector<ir::Constraint> Known(ir::ConstraintSpan where) const;
  bool IsNever(ir::ConstraintSpan where) const {
    return ranges_.IsNever(reader_, guard_, Known(where));
  }
  std::optional<Placed> AlongPlaces(const analysis::SubCase& one) const;
  std::optional<ir::Constraint> OpenAtFirst(const analysis::SubCase& one) const;
  bool EndsRun(const analysis::SubCase& one);
  ir::Affine Last() const { return window_.count - ir::Affine::Const(1); }
  bool Place(const analysis::SubCase& one);
  std::optional<ir::Affine> CommonForm(const std::vector<analysis::SubCase>& there) const;
  std::vector<analysis::SubCase> CasesAt(const ir::Affine& place, bool in_front) const;
  bool SetEnds();
  bool SetEnd(int64_t far, bool in_front);
  std::vector<ir::Constraint> PlacesOf(const End& end) const;
  bool AreThere();

  const ir::Each& reader_;
  const size_t inst_;
  const ir::Value guard_;
  const ir::ValueSpan shape_;
  const ReadRanges& ranges_;
  const FrontChecks& checks_;
  std::vector<ir::Constraint> checked_;
  PlaceWindow window_;
  Found found_;
  std::vector<Placed> placed_;
  std::vector<analysis::SubCase> middle_;  // where rows are in their order
  int64_t front_ = -1, behind_ = -1;  // the farthest places of the ends, each counted from its own
};

}  // namespace pullback::tensor
