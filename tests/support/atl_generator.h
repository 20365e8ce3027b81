// Random programs of the tensor language of Bernstein et al.: every construct of their grammar, in every place
// where it may stand. Kind::kTensor (generator.h) writes flat statements; here lets stand under gens, sums and
// factors, gens under accesses and brackets, pairs go in, through black boxes and out.
#pragma once

#include <cstdint>

#include "tests/support/generator.h"

namespace pullback::testing {

// The entry takes (x: f64, a: [n]f64, b: [n]f64, m: [n, n]f64, t: (f64, [n]f64)) and returns (f64, [n]f64).
// The same seed gives the same program; nothing traps.
GeneratedProgram GenerateAtlProgram(uint32_t seed, Coverage* coverage);

}  // namespace pullback::testing
