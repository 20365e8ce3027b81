#include "core/tensor/piece_solver.h"

#include <algorithm>

#include "core/analysis/eliminate.h"
#include "core/analysis/isl_solver.h"
#include "core/analysis/quotients.h"

namespace pullback::tensor {

using analysis::Box;
using analysis::Predicate;
using analysis::Truth;
using analysis::Work;
using ir::Affine;
using ir::Constraint;
using ir::Value;

namespace {

constexpr int64_t kMaxWork = 200;
// Predicates that are solved for one statement: each may be a question to isl.
constexpr size_t kMaxSolved = 32;

// Whether one of the indices that stay is below that extent, so that there is a number below it.
bool HasExtent(const ir::Each& each, size_t kept, Value extent) {
  return std::any_of(each.indices.begin(), each.indices.begin() + static_cast<long>(kept),
                     [&](const ir::IndexVar& i) { return i.extent == extent; });
}

}  // namespace

PieceSolver::PieceSolver(const ir::Each& each, const Box& box, TameValues& tame)
    : box_(box), tame_(tame) {
  const size_t kept = each.results[0].out.size();
  for (size_t k = kept; k < each.indices.size(); ++k) {
    vars_.push_back(each.indices[k].var);
    if (!HasExtent(each, kept, each.indices[k].extent))
      not_empty_.push_back({*box.ExtentOf(vars_.back()) - Affine::Const(1), false});
  }
  Work work{kMaxWork};
  if (Simplify(not_empty_, box, work) == Truth::kTrue) not_empty_.clear();
}

bool PieceSolver::Solve(std::vector<Piece>& pieces) {
  std::vector<Piece> solved;
  for (const Piece& p : pieces) {
    const auto& predicates = Solve(p.predicate);
    if (!predicates) return false;
    for (const Predicate& without : *predicates) solved.push_back({without, p.conditions});
  }
  pieces = std::move(solved);
  return true;
}

const PieceSolver::Solution& PieceSolver::Solve(const Predicate& p) {
  for (const auto& [known, solution] : solved_) {
    if (known == p) return solution;
  }
  Solution solution = solved_.size() < kMaxSolved ? SolveNew(p) : std::nullopt;
  if (solution && !SimplifyAll(*solution)) solution.reset();
  return solved_.emplace_back(p, std::move(solution)).second;
}

PieceSolver::Solution PieceSolver::SolveNew(const Predicate& p) {
  if (p == Predicate()) return std::vector{Predicate{not_empty_, {}}};
  if (Solution solution = Eliminate(p)) return solution;
  const Predicate tamed = Tamed(p);
  return tamed == p ? std::nullopt : Eliminate(tamed);
}

Predicate PieceSolver::Tamed(Predicate p) {
  for (Constraint& c : p.constraints) c = tame_.Tame(c).value_or(c);
  return p;
}

PieceSolver::Solution PieceSolver::Eliminate(Predicate p) const {
  Work work{kMaxWork};
  for (std::vector<Value> vars = vars_; !vars.empty();) {
    auto without = analysis::EliminateExists(vars.back(), p, box_, work);
    if (!without) return analysis::IslExists(vars, p, box_);
    p = std::move(*without);
    vars.pop_back();
    if (Simplify(p, box_, work) == Truth::kFalse) return std::vector<Predicate>();
  }
  return std::vector{std::move(p)};
}

bool PieceSolver::SimplifyAll(std::vector<Predicate>& predicates) const {
  Work work{kMaxWork};
  std::erase_if(predicates, [&](Predicate& p) { return Simplify(p, box_, work) == Truth::kFalse; });
  return std::all_of(predicates.begin(), predicates.end(),
                     [&](const Predicate& p) { return CanCompute(p); });
}

// Strides and quotients are remainders and parts of what is computed: it must not wrap.
bool PieceSolver::CanCompute(const Predicate& p) const {
  Box box = box_;
  const auto tame = [&](const auto& part) { return box.IsTame(part.e); };
  for (const analysis::Quotient& q : p.quotients) {
    const std::optional<analysis::Interval> range = analysis::RangeOf(q, box);
    if (!range || !box.IsTame(q.e + Affine::Const(q.d * analysis::LeastShift(q, box))))
      return false;
    box.AddValue(q.name, *range);
  }
  return std::all_of(p.strides.begin(), p.strides.end(), tame) &&
         (p.quotients.empty() || std::all_of(p.constraints.begin(), p.constraints.end(), tame));
}

}  // namespace pullback::tensor
