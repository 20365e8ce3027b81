// How a statement stores a row where it goes (destinations.h).
#pragma once

#include <vector>

#include "core/loops/accesses.h"
#include "core/loops/destinations.h"

namespace pullback::loops {

struct ResultPlan;

class Placement {
 public:
  // `array`: the statement's result, which holds the row among others.
  Placement(const AccessContext& c, const Destination& d, ir::Value array)
      : c_(c), e_(c.l.e), d_(d), array_(array) {}

  // In front of the nest, where subscripts have been checked that can be. The copy of a row that has been
  // made would trap at its first place that is out of range; so does this, before the nest, or behind it
  // where the nest may trap itself (`late`).
  void Begin(bool late, const ResultPlan& plan);
  // Every element of the row takes the value.
  void Fill(Reg value);
  // In the nest: the point's element.
  void Put(Reg value, std::vector<Reg> apart, std::vector<Proof> proofs);
  void End();

 private:
  bool IsProven(size_t axis, const ResultPlan& plan) const;
  Reg Inside(size_t axis);
  Reg Count(size_t index) { return c_.l.Of(d_.axes[index].extent); }
  std::vector<Reg> OpenRow(std::vector<ir::Affine>& subs);
  void CloseRow();
  void OpenIfInside();
  void CloseIfInside();
  void Trap();

  const AccessContext& c_;
  Emitter& e_;
  const Destination& d_;
  const ir::Value array_;
  std::vector<Reg> extents_;  // of the array
  Reg good_ = ir::kNoValue;   // all places are in range, where that is not proven
  bool late_ = false;
};

}  // namespace pullback::loops
