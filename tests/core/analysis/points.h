// Random predicates over small boxes, and their points by enumeration: what the algebra is held to.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <vector>

#include "core/analysis/predicate.h"

namespace pullback::analysis {

// Indices i, j, k with extents n, m, 3, and a value p from outside.
struct SmallBox {
  static constexpr ir::Value i{0}, j{1}, k{2}, n{3}, m{4}, p{5};
  static constexpr int64_t kMaxExtentOf = 4, kMostP = 3;

  SmallBox();
  Box box;
};

// Forms over its indices, and constants.
inline ir::Affine I(int64_t k = 1) { return ir::Affine::Of(SmallBox::i) * k; }
inline ir::Affine J(int64_t k = 1) { return ir::Affine::Of(SmallBox::j) * k; }
inline ir::Affine K(int64_t k = 1) { return ir::Affine::Of(SmallBox::k) * k; }
inline ir::Affine C(int64_t k) { return ir::Affine::Const(k); }

using Point = std::map<ir::Value, int64_t>;

int64_t Eval(const ir::Affine& e, const Point& at);
bool Holds(const ir::Constraint& c, const Point& at);
bool Holds(const Predicate& p, Point at);
bool Holds(const std::vector<ir::Constraint>& all, const Point& at);

// Every assignment of n, m and p in their ranges, then of i, j, k in the box.
void ForEachPoint(const std::function<void(const Point&)>& fn);

ir::Affine RandomForm(std::mt19937& random);
ir::Constraint RandomConstraint(std::mt19937& random);
std::vector<ir::Constraint> RandomConstraints(std::mt19937& random, size_t most);
Predicate RandomPredicate(std::mt19937& random);

}  // namespace pullback::analysis
