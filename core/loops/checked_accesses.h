// Subscripts that an earlier statement has found in range at all its points: what a primal reads at places that data
// say, y[k[j]], its adjoint reads there again.
//
//   %a = each(i < %n, j < %m) { … y[k[j]] … }             for %i … for %j … { check 0 <= k[j] < size of y; … }
//   %b = each(i < %n, j < %m) { … y[k[%m - %j - 1]] … }   for %i … for %j … { … }, without a check
//
// Divisors likewise, that they are not 0.
//
// Every point of the later statement is matched with a point of the earlier one that computes the same subscript. A
// point of the later one is reached only after all those of the earlier one were, without a trap: its block dominates.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/loops/bounds.h"
#include "core/loops/loops.h"

namespace pullback::loops {

class CheckedAccesses {
 public:
  // One axis of an access that a statement's points make, or a divisor that they divide by: `sub`, without an extent.
  struct Axis {
    const ir::Each* each;
    ir::Affine sub;
    std::optional<ir::Affine> extent;
    ir::Value guard;
  };

  CheckedAccesses(const ir::Function& f, const Sizes& sizes) : f_(f), sizes_(sizes) {}

  void EnterBlock(uint32_t block, Sizes::Dominates dominates);
  Reg NewToken() { return {kFirstToken + tokens_++}; }
  // From here on all points of the statement have been visited, with a check of `token` at each.
  void Learn(const Axis& axis, Reg token);
  // The token that the access relies on, and by which of its statement's values each index of the earlier statement is
  // known. `bounds`: what holds at all its points.
  std::optional<Proof> Find(const Axis& axis, const Bounds& bounds) const;

 private:
  struct Entry {
    Axis axis;
    Reg token;
    uint32_t block;
  };
  std::string KeyOf(const Axis& axis) const;

  const ir::Function& f_;
  const Sizes& sizes_;
  uint32_t block_ = 0;
  Sizes::Dominates dominates_;
  uint32_t tokens_ = 0;
  std::map<std::string, std::vector<Entry>> entries_;  // by what is subscripted, without indices
};

}  // namespace pullback::loops
