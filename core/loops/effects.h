// What a node of a block, with all that is inside it, needs and does: which nodes may change places.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/loops/loops.h"

namespace pullback::loops {

// So many turns, in extents of arrays, which are not negative.
using Reach = ir::Affine;
Reach AtMost(const Reach& a, const Reach& b);  // no less than either
Reach AtLeast(const Reach& a, const Reach& b);

struct Effects {
  struct Access {
    static constexpr int kNoAxis = -1;
    bool writes = false;
    // Of a loop: along this axis (Node::rows), turn t accesses rows of which `period` times each lies at step * t + first to
    // step * t + last, and nothing else; 1 or more, and one of them 1.
    int axis = kNoAxis;
    Reach first{}, last{};
    int64_t step = 1, period = 1;
    bool IsByTurn() const { return axis != kNoAxis && step == 1 && period == 1; }
    bool IsOfTurn() const { return IsByTurn() && first == Reach() && last == Reach(); }
  };
  std::vector<Reg> defines, uses;  // ascending; what is known inside alone is in neither
  std::map<Reg, Access> memory;    // arrays, lanes, and what checks prove (Proof)
  bool checks = false;             // it traps where a check fails, or calls what may
  bool ordered = false;            // others see it: two such stay in order, and those and checks
};

Effects EffectsOf(const Function& f, const Node& node);
// Of a loop that does what both do.
Effects Joined(const Effects& a, const Effects& b);

// Whether what they do besides is seen in order. (Of several checks that fail, or calls that trap, any may end the run.)
bool StayInOrder(const Effects& a, const Effects& b);

enum class Dependence : uint8_t {
  kNone,
  kByTurn,  // in a turn of a loop of what the same turn of the other does; they may be one loop
  kWhole
};
// Of what comes later on what comes earlier.
Dependence DependenceOf(const Effects& later, const Effects& earlier);
// How many turns behind the loop that comes earlier the later one has to run, if it is not to wait for the whole of it
// (nullopt): its turn t, when turn t + delay of the earlier one is over. 0 where any order of turns t of both will do, and less
// where it may even be ahead. By steps of 1 alone: of loops that are paced.
std::optional<Reach> DelayOf(const Effects& later, const Effects& earlier);

}  // namespace pullback::loops
