// What a statement asks that does nothing else: whether some (all) of its points are as a predicate says.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/predicate.h"
#include "core/ir/ir.h"

namespace pullback::tensor {

struct Question {
  bool all = false;  // min: else max
  // Some point is in one of the pieces; of `all`, none is.
  std::vector<analysis::Predicate> pieces;
  // And these hold: bools of the body, or from outside, that no index which is reduced has to do with. So
  // exists k: c and p is c and exists k: p.
  std::vector<ir::Value> conditions;
};

// Of a statement with one result, max or min of a bool as a number, that leaves some index out.
std::optional<Question> QuestionOf(const ir::Each& each, const ir::Function& f,
                                   const analysis::Box& box);

}  // namespace pullback::tensor
