// The terms of what a statement computes, where that is a sum, or a product with one.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

constexpr size_t kMostSummands = 8;

struct Summand {
  ir::Value value;
  bool negative = false;
  // What it is multiplied with and divided by: instructions, the inner ones last, one of whose arguments it is in place of
  // the whole sum.
  std::vector<std::pair<const ir::Inst*, size_t>> factors = {};
};

// (a - b * c) * d has the terms a * d and -b * c * d. False: there are more than kMostSummands, or too much to look at.
bool TakeSummands(const ir::Each& each, ir::Value of, std::vector<Summand>& terms);

// The values of the statement, and of what is outside, that the term is made of.
std::set<ir::Value> MadeOf(const ir::Each& each, const Summand& term);

// Whether it makes a number of a condition, [p]: 1 where that holds.
bool IsConditionAsNumber(const ir::Inst* def, const ir::Function& f);

// A copy of the statement, which has one result, that makes this term of it, under no name yet. What no index changes of its
// factors comes in front of it, to `before`: floats, or factors under the term's condition.
ir::Inst WithSummand(const ir::Inst& statement, const Summand& term, ir::Function& f,
                     std::vector<ir::Inst>& before);

}  // namespace pullback::tensor
