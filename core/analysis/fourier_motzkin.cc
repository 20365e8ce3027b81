// Emptiness by elimination: equalities by substitution, then one value after the other, every lower bound
// with every upper one. Each combination is brought to lowest terms over the integers.
#include <algorithm>
#include <set>
#include <utility>

#include "core/analysis/predicate.h"

namespace pullback::analysis {

using ir::Affine;
using ir::Constraint;
using ir::Value;

namespace {

// Rows are exact statements about integers: they came from tame ones, and Combine does not wrap. A row
// that is left out only weakens what can be proven.
class Elimination {
 public:
  Elimination(const Box& box, Work& work) : box_(box), work_(work) {}

  // True: no point, and that is proven.
  bool Run(ir::ConstraintSpan constraints) {
    for (const Constraint& c : constraints) {
      if (c.e.IsConst() || box_.IsTame(c.e)) Add(c);
    }
    AddBox();
    while (!done_ && SubstituteOne()) {
    }
    while (!done_ && EliminateOne()) {
    }
    return empty_;
  }

 private:
  void Add(Constraint c) {
    const Truth t = LowestTerms(c);
    if (t == Truth::kFalse) empty_ = done_ = true;
    if (t != Truth::kUnknown) return;
    if (std::find(rows_.begin(), rows_.end(), c) == rows_.end()) rows_.push_back(std::move(c));
  }

  // Bounds of every value that occurs, extents included.
  void AddBox() {
    std::set<Value> seen;
    for (size_t k = 0; k < rows_.size(); ++k) {
      const Affine::Terms terms = rows_[k].e.terms;
      for (const Affine::Term& t : terms) {
        if (!seen.insert(t.value).second) continue;
        for (const Constraint& bound : box_.ConstraintsOf(t.value)) {
          if (box_.IsTame(bound.e)) Add(bound);
        }
      }
    }
  }

  // One more combination, or the end of the search.
  bool Spend() {
    if (!work_.Spend()) done_ = true;
    return !done_;
  }

  bool SubstituteOne();
  void Substitute(const Affine& zero, const Affine::Term& unit);
  bool EliminateOne();
  Value Cheapest() const;

  const Box& box_;
  Work& work_;
  std::vector<Constraint> rows_;
  bool empty_ = false;
  bool done_ = false;
};

bool Elimination::SubstituteOne() {
  for (size_t k = 0; k < rows_.size(); ++k) {
    if (!rows_[k].equality) continue;
    const Affine zero = rows_[k].e;
    for (const Affine::Term& t : zero.terms) {
      if (t.coeff != 1 && t.coeff != -1) continue;
      rows_.erase(rows_.begin() + static_cast<long>(k));
      Substitute(zero, t);
      return true;
    }
  }
  return false;
}

// unit.coeff * v + rest = 0, so e + c * v = e - (c * unit.coeff) * zero for the term c of v in e.
void Elimination::Substitute(const Affine& zero, const Affine::Term& unit) {
  const std::vector<Constraint> old = std::exchange(rows_, {});
  for (const Constraint& row : old) {
    const int64_t c = row.e.Coeff(unit.value);
    if (c == 0) {
      Add(row);
    } else if (!Spend()) {
      return;
    } else if (const auto e = Combine(1, row.e, -c * unit.coeff, zero)) {
      Add({*e, row.equality});
    }
  }
}

// The value with the fewest pairs of bounds.
Value Elimination::Cheapest() const {
  std::map<Value, std::pair<int64_t, int64_t>> bounds;
  for (const Constraint& row : rows_) {
    for (const Affine::Term& t : row.e.terms) {
      auto& [lower, upper] = bounds[t.value];
      if (row.equality || t.coeff > 0) ++lower;
      if (row.equality || t.coeff < 0) ++upper;
    }
  }
  Value best;
  int64_t least = INT64_MAX;
  for (const auto& [v, count] : bounds) {
    const int64_t pairs = count.first * count.second;
    if (pairs < least) best = v, least = pairs;
  }
  return best;
}

bool Elimination::EliminateOne() {
  const Value v = Cheapest();
  if (!v.valid()) return false;
  std::vector<Affine> lower, upper;
  for (const Constraint& row : std::exchange(rows_, {})) {
    const int64_t c = row.e.Coeff(v);
    if (c == 0) rows_.push_back(row);
    if (c > 0 || (c < 0 && row.equality)) lower.push_back(c > 0 ? row.e : row.e * -1);
    if (c < 0 || (c > 0 && row.equality)) upper.push_back(c < 0 ? row.e : row.e * -1);
  }
  for (const Affine& l : lower) {
    for (const Affine& u : upper) {
      if (done_ || !Spend()) return false;
      if (const auto e = Combine(-u.Coeff(v), l, l.Coeff(v), u)) Add({*e, false});
    }
  }
  return !done_;
}

}  // namespace

bool ProvesEmpty(ir::ConstraintSpan constraints, const Box& box, Work& work) {
  return Elimination(box, work).Run(constraints);
}

}  // namespace pullback::analysis
