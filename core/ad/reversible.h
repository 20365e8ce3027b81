// Integers and bools that a loop carries and changes by invertible operations (k = k - 1, i = i + step,
// x = -x, flag = not flag): the reverse half takes their values at the end of the loop along, backwards, and
// undoes each turn, so that none is kept on the tape. Integers wrap, so this is exact. Floats round: what was
// done to them is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/ad/prepare.h"
#include "core/ir/builder.h"

namespace pullback::ad {

// How a value of a turn is found from those that are known already: the result of `inst` is computed again, an
// operand from the result and the other operands.
struct UndoStep {
  const ir::Inst* inst;
  ir::Value target;
};

struct ReversibleIntegers {
  // What the reverse half takes along: parameters of the header, then integers from outside the loop.
  std::vector<ir::Value> params, invariants;
  // From what the parameters become in the next turn to what they are in this one.
  std::vector<UndoStep> steps;
};

class Reversible {
 public:
  // defs: by value of f, its instruction. at_hand: whether the reverse half of the header has it anyway.
  Reversible(const ir::Function& f, const ReverseFlow& flow,
             const std::vector<const ir::Inst*>& defs, std::function<bool(ir::Value)> at_hand)
      : f_(f), flow_(flow), defs_(defs), at_hand_(std::move(at_hand)) {}

  // Of the loop with this header (WayBack::kTrips), for its parameters among `wanted` (by value).
  ReversibleIntegers Find(uint32_t header, const std::vector<char>& wanted) const;

  // The step's target; `get` gives the values that are known.
  ir::Value Emit(ir::Builder& b, const UndoStep& step,
                 const std::function<ir::Value(ir::Value)>& get) const;

 private:
  const ir::Function& f_;
  const ReverseFlow& flow_;
  const std::vector<const ir::Inst*>& defs_;
  std::function<bool(ir::Value)> at_hand_;
};

}  // namespace pullback::ad
