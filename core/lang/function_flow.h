// Inside of Lower: which functions a value of a type fn(…) -> … may be, by where values go.
//
// Sets of variants flow through variables, parameters and results until nothing changes. A set stands for
// all that a value holds at any depth; what lists hold belongs to the list, what boxes hold to one set
// for all boxes; what a variant captures belongs to the variant.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/lang/ast.h"

namespace pullback::lang {

// (index in Program::dynamics, number of the variant)
using Variant = std::pair<size_t, size_t>;
using Variants = std::set<Variant>;

// What comes into a function from outside.
struct FlowInput {
  std::vector<Variants> params;
  std::map<Variant, Variants> captured;  // by each of these, and by those that they capture
  Variants boxes;
  bool operator<(const FlowInput& o) const {
    return std::tie(params, captured, boxes) < std::tie(o.params, o.captured, o.boxes);
  }
};

class FunctionFlow {
 public:
  // From `function` on. `work` counts what was looked at, and stops at `most`: then IsComplete is false
  // and the rest says nothing.
  FunctionFlow(const Program& program, uint32_t function, const FlowInput& in, size_t& work,
               size_t most);

  bool IsComplete() const { return work_ <= most_; }
  // Whether the dispatcher is called; the variants that its argument may be.
  bool Reaches(uint32_t function) const { return functions_.contains(function); }
  std::vector<char> VariantsOf(uint32_t dispatcher) const;
  // What comes into the callee of a kDerive in a function that is reached; nothing where none is.
  FlowInput Into(const Expr& derive) const;

 private:
  struct State {
    std::map<uint32_t, Variants> locals;
    Variants result;
  };

  void Enter(uint32_t function);
  void Walk(uint32_t function);
  void Walk(const Function& f, State& s, const Block& b);
  void Walk(const Function& f, State& s, const Stmt& stmt);
  Variants Of(const Function& f, State& s, const ExprPtr& e);
  Variants Inside(const Function& f, State& s, const Expr& e);
  Variants Call(const Expr& e, const std::vector<Variants>& operands);
  void Dispatch(const DynamicType& d, size_t index, State& s);
  void Flow(const Variants& from, Variants& to);
  void IntoLocal(const Function& f, State& s, uint32_t local, const Variants& from);

  const Program& program_;
  std::map<uint32_t, size_t> dispatchers_;  // index in Program::dynamics
  std::map<uint32_t, State> functions_;
  std::vector<uint32_t> order_;  // as they are entered
  std::map<Variant, Variants> captured_;
  std::map<const Expr*, std::vector<Variants>> derived_;  // sets of the callee's parameters
  Variants boxes_;
  bool changed_ = false;
  size_t& work_;
  const size_t most_;
};

// Whether values of the type hold functions of which the code is known at run time only.
bool HoldsDynamic(const Type& t);
// The same of boxes.
bool HoldsBox(const Type& t);

}  // namespace pullback::lang
