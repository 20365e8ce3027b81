// Integers of a function that are affine forms of others, and those that loops count by.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/ad/prepare.h"

namespace pullback::ad {

using Definitions = std::vector<const ir::Inst*>;  // by value; null: a parameter
Definitions FindDefinitions(const ir::Function& f);

// What an instruction on i64 computes, where that is an affine form of its operands.
std::optional<ir::Affine> FormOf(const ir::Inst& inst, const ir::Function& f,
                                 const Definitions& defs);

// A header's parameter that every turn of its loop adds a constant to.
struct Counter {
  uint32_t header;
  ir::Value start;
  int64_t step;
};
using Counters = std::map<ir::Value, Counter>;
// Of headers with a trip count (WayBack::kTrips).
Counters FindCounters(const ir::Function& f, const ReverseFlow& flow, const Definitions& defs);

// The header's `a < b` that holds in every turn of its loop; nullptr: it tests something else.
const ir::Inst* TestOf(const ir::Function& f, const ReverseFlow& flow, const Definitions& defs,
                       uint32_t header);

}  // namespace pullback::ad
