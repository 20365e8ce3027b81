// Mixed mode (Revels et al. 2018, 2.2): a scalar function that a statement's body calls is differentiated by
// multidimensional duals inside reverse mode. Its value and partials come out of one call.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ad {

// In which pass the duals are evaluated, and what turns of loops that only add make (core/ad/outline_turns.h). The
// results are the same bits; but kAuto also reverses such loops turn by turn (core/ad/adders.h), from the first on.
enum class Mixed : uint8_t {
  kAuto,        // by cost: PrefersCached
  kCached,      // in the forward pass: the statement also stores the partials, one array each
  kRecomputed,  // in the reverse pass, which runs the function again
};

// What one evaluation of `f` costs, in the units of core/ad/keep.h (a byte on the tape, an operation of
// arithmetic). A branch goes either way half of the time; a function with a loop costs kTurns times
// what stands in it.
inline constexpr double kTurns = 8;
double CostOfBody(const ir::Module& module, uint32_t f);

// Whether the duals of `f` by its active parameters are better evaluated in the forward pass. Cached, every
// point stores its partials and reads them back: their bytes. Recomputed, every point evaluates f once more than
// it has to: the dual is f and its partials in one, so without keeping them f is run in the forward pass and
// again with the dual. Cached where that costs more.
bool PrefersCached(const ir::Module& module, uint32_t f, const std::vector<bool>& active);

}  // namespace pullback::ad
