// Equations and orders with integers from outside that may be anything, in terms of such as cannot wrap.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/box.h"
#include "core/ir/ir.h"

namespace pullback::tensor {

class TameValues {
 public:
  // Of one statement, which does not change meanwhile; the box, which is its, learns of the values that are made.
  TameValues(const ir::Each& each, ir::Function& f, analysis::Box& box)
      : each_(each), f_(f), box_(box), known_(f.values.size()) {}

  // What holds at the same points of the box and is tame; nullopt: not found, or c is so already.
  std::optional<ir::Constraint> Tame(const ir::Constraint& c);

  // That machine integers are in order, less <= more or less < more. nullopt: both have terms that are not from
  // outside, and may wrap.
  std::optional<ir::Constraint> Ordered(const ir::Affine& less, const ir::Affine& more,
                                        bool strictly);

  // Is `form`, of values from outside, or the end of the range that is nearest to it.
  struct Clamped {
    ir::Value value;
    ir::Affine form;
    analysis::Interval range;
  };
  // To be computed in front of the statement.
  const std::vector<Clamped>& made() const { return made_; }

 private:
  bool IsOuter(ir::Value v) const;
  bool IsOuter(const ir::Affine& e) const;
  bool IsWild(ir::Value v) const;
  // What is on the same side of all that `tame` may be; nullopt: it is not tame.
  std::optional<ir::Affine> Beside(const ir::Affine& tame, const ir::Affine& outer);
  ir::Value Clamp(const ir::Affine& form, analysis::Interval range);

  const ir::Each& each_;
  ir::Function& f_;
  analysis::Box& box_;
  const size_t known_;  // values behind are names that others have made since
  std::vector<Clamped> made_;
};

}  // namespace pullback::tensor
