// Quantifiers that are solved: exists k: p, for the indices k that a statement reduces.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/box.h"
#include "core/analysis/predicate.h"
#include "core/ir/ir.h"
#include "core/tensor/question.h"
#include "core/tensor/tame_values.h"

namespace pullback::tensor {

class PieceSolver {
 public:
  PieceSolver(const ir::Each& each, const analysis::Box& box, TameValues& tame);

  // Where there are such indices at all.
  const std::vector<ir::Constraint>& not_empty() const { return not_empty_; }

  // exists them: pieces, a disjunction again. False: not solved.
  bool Solve(std::vector<Piece>& pieces);

 private:
  using Solution = std::optional<std::vector<analysis::Predicate>>;

  const Solution& Solve(const analysis::Predicate& p);
  Solution SolveNew(const analysis::Predicate& p);
  analysis::Predicate Tamed(analysis::Predicate p);
  Solution Eliminate(analysis::Predicate p) const;
  bool SimplifyAll(std::vector<analysis::Predicate>& predicates) const;
  bool CanCompute(const analysis::Predicate& p) const;

  const analysis::Box& box_;
  TameValues& tame_;
  std::vector<ir::Value> vars_;
  std::vector<ir::Constraint> not_empty_;
  std::vector<std::pair<analysis::Predicate, Solution>> solved_;
};

}  // namespace pullback::tensor
