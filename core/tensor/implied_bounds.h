// Affine constraints that hold wherever a condition of a statement's body does which is none itself: of `abs(i - j) == 1`,
// -1 <= i - j <= 1, of a disjunction what bounds all its arms. What can be narrowed by them still asks the condition.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/analysis/body_forms.h"
#include "core/analysis/box.h"
#include "core/ir/ir.h"

namespace pullback::tensor {

class ImpliedBounds {
 public:
  // The statement, which has to stay as it is, and what is known of its indices and of values outside.
  ImpliedBounds(const ir::Each& each, const ir::Function& f, analysis::Box box);

  // Of a bool of the body: none, or some that are tame and that the statement's `where` does not imply.
  std::vector<ir::Constraint> Of(ir::Value condition) const;

 private:
  using Constraints = std::vector<ir::Constraint>;  // no equalities
  enum class Side : uint8_t { kBelow, kAbove };

  Constraints Find(ir::Value condition, int depth) const;
  Constraints OfNegation(const ir::Inst& inst, int depth) const;
  Constraints OfOrder(const ir::Inst& at, size_t less, size_t more, int64_t apart) const;
  std::vector<ir::Affine> Bounds(ir::Value v, ir::Value guard, Side side, int sums) const;
  std::vector<ir::Affine> BoundsOfSum(const ir::Inst& sum, Side side, int sums) const;
  const ir::Inst* DefinitionOf(ir::Value v) const;

  const ir::Each& each_;
  const ir::Function& f_;
  const analysis::Box box_;
  analysis::BodyForms forms_;
  std::unordered_map<uint32_t, const ir::Inst*> definitions_;
};

}  // namespace pullback::tensor
