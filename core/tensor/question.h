// What a statement asks that does nothing else: whether some (all) of its points are as a predicate says.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/analysis/predicate.h"
#include "core/ir/ir.h"
#include "core/tensor/tame_values.h"

namespace pullback::tensor {

// A bool of the body, or from outside, that is one for all indices which are reduced.
struct Condition {
  ir::Value value;
  bool negated = false;
  bool operator==(const Condition&) const = default;
};

// Of a disjunction. exists k: c and p is c and exists k: p.
struct Piece {
  analysis::Predicate predicate;
  std::vector<Condition> conditions;
};

struct Question {
  bool all = false;  // min: else max
  // Some point is in one of the pieces; of `all`, none is.
  std::vector<Piece> pieces;
  // Guards that speak of the indices which are reduced, of what the conditions are made of: there is something to
  // evaluate where some point is in one of the guard's pieces. Where none is, no condition made of it counts.
  std::map<ir::Value, std::vector<Piece>> guards;
};

// Of a statement with one result, max or min of a bool as a number, that leaves some index out.
std::optional<Question> QuestionOf(const ir::Each& each, ir::Function& f, analysis::Box& box,
                                   TameValues& tame);

}  // namespace pullback::tensor
