// What is evaluated in front of a comprehension's loop instead of at each of its points:
//
//   sum i < n { sort(x)[i] * y[i] }
//   s = if 0 < n { sort(x) } else { zeros };  sum i < n { s[i] * y[i] }
//
// It is what every point evaluates, and stands where there is a point: so nothing is evaluated, and no trap met, that
// was not to come.
#pragma once

#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_invariants.h"

namespace pullback::lang {

// While it lives, invariants of the body have their values (Activation::ahead). Block mode.
class EvaluatedAhead {
 public:
  // In front of the loop over the binders from `first` on, of which these are the ranges; those before have their
  // values; nullopt: one that depends on a binder among them.
  EvaluatedAhead(Context& c, const Expr& e, size_t first, const Ranges& ranges, Dear dear);
  ~EvaluatedAhead();
  EvaluatedAhead(const EvaluatedAhead&) = delete;
  EvaluatedAhead& operator=(const EvaluatedAhead&) = delete;

 private:
  void Under(Value condition, const Invariants& found);
  std::optional<Leaves> Lower(const Invariants& found);
  void Give(const Invariants& found, const Leaves& all);

  Context& c_;
  Activation& at_;
  std::vector<const Expr*> given_;
};

}  // namespace pullback::lang
