// Integers of turns that are the same in all of them, outside of the loops (raise_loops.cc).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/opt/turn_values.h"

namespace pullback::opt {

class TurnSizes {
 public:
  // What has to be computed in front of the loops is appended to `out`.
  TurnSizes(ir::Function& f, const TurnValues& values, std::vector<ir::Inst>& out)
      : f_(f), values_(values), out_(out) {}

  // The integer from outside; kNoValue: turns have each their own, or it may trap.
  ir::Value Outside(ir::Value v);
  // Whether turns that there are not would not trap if it were an extent.
  bool IsSize(ir::Value v) const;
  // An extent in a turn, from outside; kNoValue: it is not the same for all, or no such size.
  ir::Value Extent(ir::Value v) { return IsSize(v) ? Outside(v) : ir::Value(); }
  // Of all; nothing: some is no such.
  std::optional<ir::Values> Extents(ir::ValueSpan values);

  // Learns how far the turns of a loop go, in a turn of those around it.
  void Enter(const CountedNest& nest, const NestPath& around);
  // Null: it is not known.
  const TurnRange* RangeOf(const CountedNest* nest) const;
  // Of loops with ranges.
  ir::Values ExtentsOf(const NestPath& around) const;
  // Whether every turn's counter and so many more are an index of such an axis.
  bool IsPlace(const CountedNest* nest, int64_t more, ir::Value extent) const;
  bool IsPlace(int64_t place, ir::Value extent) const;

 private:
  std::optional<TurnRange> Range(const CountedNest& nest, const NestPath& around);
  bool IsStart(const ir::Affine& first, const NestPath& around) const;
  std::vector<ir::Affine> BoundsOf(ir::Value v, ir::Op op) const;
  std::optional<TurnRange> RangeBetween(const ir::Affine& counter,
                                        const std::vector<ir::Affine>& firsts,
                                        const std::vector<ir::Affine>& lasts,
                                        const NestPath& around);
  bool AreOutside(const ir::Affine& form) const;
  void SetExtentOver(const NestPath& around, TurnRange& range);

  ir::Function& f_;
  const TurnValues& values_;
  std::vector<ir::Inst>& out_;
  std::map<ir::Value, ir::Value> outside_;
  std::map<const CountedNest*, TurnRange> ranges_;
};

}  // namespace pullback::opt
