// What a node of a block, with all that is inside it, needs and does: which nodes may change places.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/loops/loops.h"

namespace pullback::loops {

struct Effects {
  struct Access {
    bool writes = false;
    bool by_row =
        true;  // of a loop: each turn accesses the row of its number (Node::row), and no other
  };
  std::vector<Reg> defines, uses;  // ascending; what is known inside alone is in neither
  std::map<Reg, Access> memory;    // arrays and lanes
  bool ordered = false;            // it may trap, or others see it: two such stay in order
};

Effects EffectsOf(const Node& node);
// Of a loop that does what both do.
Effects Joined(const Effects& a, const Effects& b);

enum class Dependence : uint8_t {
  kNone,
  kByRow,  // in a turn of a loop of what the same turn of the other does; they may be one loop
  kWhole
};
// Of what comes later on what comes earlier.
Dependence DependenceOf(const Effects& later, const Effects& earlier);

}  // namespace pullback::loops
