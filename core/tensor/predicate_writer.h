// Predicates as instructions of a body or of a block.
#pragma once

#include <vector>

#include "core/analysis/box.h"
#include "core/analysis/predicate.h"
#include "core/ir/ir.h"
#include "core/tensor/tame_values.h"

namespace pullback::tensor {

class PredicateWriter {
 public:
  // Appends to `into`. The box knows what the predicates name.
  PredicateWriter(ir::Function& f, analysis::Box box, std::vector<ir::Inst>& into)
      : f_(f), box_(std::move(box)), into_(into) {}

  ir::Value Make(ir::Op op, ir::Type type, ir::Values args);
  ir::Value I64(int64_t v);
  ir::Value Holds(std::vector<ir::Constraint> constraints);
  ir::Value Clamp(const TameValues::Clamped& c);
  // A disjunction; of nothing it is false.
  ir::Value Any(const std::vector<analysis::Predicate>& pieces);

 private:
  ir::Value Append(ir::Inst inst, ir::Type type);
  ir::Value Form(const ir::Affine& e);
  ir::Value IsMultiple(const analysis::Stride& s);
  ir::Affine FloorOf(const analysis::Quotient& q);
  analysis::Predicate Computed(analysis::Predicate p);
  ir::Value All(const analysis::Predicate& with_quotients);

  ir::Function& f_;
  analysis::Box box_;  // learns of the quotients that are made
  std::vector<ir::Inst>& into_;
};

}  // namespace pullback::tensor
