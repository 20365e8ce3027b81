// Equalities in a body of an index and of what is read there, and which of the results they are a condition of.
#pragma once

#include <set>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

// Which values of the body have to do with an index; with it.
std::set<ir::Value> ReadersOf(const ir::Each& each, ir::Value index);

// An index and what it is equal to where `condition`, an instruction of the body, is true.
struct Equality {
  size_t index;
  ir::Affine e;
  ir::Value condition;
};

// Those that can be solved for an index which the other side has nothing to do with: the last such index.
std::vector<Equality> EqualitiesOf(const ir::Each& each, const ir::Function& f);

// What a result takes where `guard` is true; where it is false the result is as if the point were not there. No guard: it
// takes its value everywhere.
struct ResultTerm {
  ir::Value value;
  ir::Value guard;
  bool chosen;  // the value was a choice, whose other arm is what the result is of nothing
};
ResultTerm TermOf(const ir::Each& each, const ir::Function& f, const ir::EachResult& r);
inline void SetTerm(ir::EachResult& r, const ResultTerm& term) {
  r.value = term.value;
  r.guard = term.guard;
}

}  // namespace pullback::tensor
