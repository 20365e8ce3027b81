// The points of a tensor statement as loops of the control flow, for what a statement has no form for: a
// number of steps that differs from point to point.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "core/analysis/box.h"
#include "core/ir/builder.h"

namespace pullback::ad {

// A read of a point: where it is made, of what, and what it makes an element of.
struct PointAccess {
  std::vector<ir::Affine> from;         // subscripts; none of a scalar
  std::vector<ir::Value> from_extents;  // as many
  std::vector<ir::Affine> to;
  std::vector<ir::Value> to_extents;
  std::vector<ir::Value> guards;  // bools of the body
};

// Loops over the points that hold, guards do and subscripts are in range for, of a statement in the
// builder's function. Constraints narrow the loops where they speak of the innermost one and cannot wrap,
// and are tested elsewhere. A guard that calls a function counts as true. Body instructions are evaluated as
// far as all this needs them, and never trap.
class PointLoops {
 public:
  // `box`: the statement's.
  PointLoops(ir::Builder& b, const ir::Each& each, const analysis::Box& box,
             const PointAccess& access);

  // False where a subscript needs a call of a function.
  bool ok() const { return ok_; }

  // At the builder's place, which moves behind the loops; gives the state after the last point. May be used
  // again. `visit` gets the state and gives the next one; From and To are subscripts of its point.
  using State = std::vector<ir::Value>;
  State Emit(const State& state, const std::function<State(State)>& visit);
  std::vector<ir::Affine> From() const { return Mapped(access_.from); }
  std::vector<ir::Affine> To() const { return Mapped(access_.to); }

 private:
  struct Limit {
    ir::Affine rest;  // coeff * index + rest >= 0
    int64_t coeff;
  };
  struct Level {
    std::vector<Limit> limits;
    std::vector<ir::Constraint> early;  // tests without what the body has here
    std::vector<const ir::Inst*> insts;
    std::vector<ir::Constraint> late;
    std::vector<ir::Value> guards;
  };

  void AddGuard(ir::Value guard);
  bool Need(ir::Value v);
  bool NeedAll(const ir::Affine& e);
  void Place(const ir::Constraint& c, const analysis::Box& box);
  bool Narrows(const ir::Constraint& c, const analysis::Box& box);
  size_t LevelOf(ir::Value v) const;
  size_t LevelOf(const ir::Affine& e) const;
  bool ReadsBody(const ir::Affine& e, size_t level) const;

  State At(size_t level, const State& state, const std::function<State(State)>& visit);
  State Loop(size_t level, const State& state, const std::function<State(State)>& visit);
  State If(ir::Value condition, const State& state, const std::function<State(State)>& inside);
  void Evaluate(const ir::Inst& inst);
  ir::Value Read(const ir::Inst& inst, ir::Value guard);
  ir::Value Bound(const Limit& limit);
  ir::Value Holds(ir::ConstraintSpan constraints, const std::vector<ir::Value>& guards);
  ir::Value Get(ir::Value v) const;
  ir::Affine Mapped(ir::Affine e) const;
  std::vector<ir::Affine> Mapped(ir::AffineSpan all) const;

  ir::Builder& b_;
  const ir::Each& each_;
  const PointAccess access_;
  bool ok_ = true;
  std::map<ir::Value, const ir::Inst*> defs_;
  std::map<ir::Value, size_t> index_level_;
  std::map<ir::Value, size_t> needed_;  // body values, to their level
  std::vector<ir::Constraint> constraints_;
  std::vector<ir::Value> tests_;
  std::vector<Level> levels_;
  std::map<ir::Value, ir::Value> to_;
};

}  // namespace pullback::ad
