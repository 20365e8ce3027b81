// Proofs of inequalities inside a tensor statement, and between checks of blocks: by interval arithmetic, by
// one fact, then by all facts that share values with the question (Fourier-Motzkin with a small budget).
//
// Integers wrap, and sizes come from outside, so a step of arithmetic counts only where it cannot
// wrap: where the ranges of all terms are small. A fact that is word for word what is asked needs
// no arithmetic.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/ir/ir.h"
#include "core/loops/sizes.h"

namespace pullback::loops {

// e >= 0 at every point that is reached with `level` loops open. `exact`: as in Known.
struct Fact {
  ir::Affine e;
  int level = 0;
  bool exact = false;
};

class Bounds {
 public:
  explicit Bounds(const Sizes& sizes) : sizes_(sizes) {}

  // --- what is known
  // The extent of an array that exists: between 0 and kMaxExtent.
  void AddExtent(const ir::Affine& form);
  // 0 <= var < extent, for ranges; AddIndex also makes it a fact, once `level` loops are open.
  void DeclareIndex(ir::Value var, ir::Value extent);
  void ForgetIndex(ir::Value var) { indices_.erase(var); }
  void AddIndex(ir::Value var, ir::Value extent, int level);
  // From now on `var` is a name for `e`.
  void Substitute(ir::Value var, const ir::Affine& e);
  void AddFact(const Fact& fact);
  void AddKnown(const std::vector<Known>& known, int level);

  // --- what follows
  // The least number of open loops at which e >= 0 is known by a fact; kNever. `more`: what holds
  // besides.
  static constexpr int kNever = INT32_MAX;
  int Prove(const ir::Affine& e, const std::vector<Known>& more = {}) const;
  // Whether e can be computed without wrapping, its terms in any order.
  bool IsTame(const ir::Affine& e) const;
  // Whether the sum of |coeff| * (extent - 1) over the index variables of e fits.
  bool HasTameSpread(const ir::Affine& e) const;
  ir::Affine Form(const ir::Affine& e) const;

 private:
  struct Interval {
    __int128 lo, hi;
  };
  void Normalise(const Fact& fact, std::vector<Fact>& facts) const;
  static bool IsSmall(const Interval& i);
  // `deep`: so many definitions are followed.
  static constexpr int kDeep = 3;
  Interval RangeOfAtom(ir::Value atom, int deep = kDeep) const;
  Interval RangeOfForm(const ir::Affine& form, int deep = kDeep) const;
  Interval RangeOfExtremum(const ir::Inst& inst, int deep) const;
  bool IsExtent(const ir::Affine& form) const;
  bool FollowsFromBox(const ir::Affine& form) const;
  int ProveTogether(const ir::Affine& form, const std::vector<Fact>& facts, int below) const;

  const Sizes& sizes_;
  std::map<ir::Value, ir::Affine> indices_;  // to the extent's form
  std::map<ir::Value, ir::Affine> names_;
  std::vector<ir::Affine> extents_;
  std::vector<Fact> facts_;  // their e are forms
};

}  // namespace pullback::loops
