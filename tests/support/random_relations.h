// Random conditions with relations, in comprehensions and in loops over all points that mean the same. (Where the loops
// trap, the comprehensions need not: they may not look at a condition that decides nothing.)
#pragma once

#include <random>
#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace pullback::testing {

struct RandomRelationProgram {
  std::string statement, loop;  // texts; the entry f gives a number
  bool smooth =
      false;  // they have the same derivative: no extrema, of which one of several may be taken
};
// One condition on two indices, or on three, in several comprehensions.
std::vector<RandomRelationProgram> RandomPairPrograms(std::mt19937& random);
std::vector<RandomRelationProgram> RandomTriplePrograms(std::mt19937& random);

// Their arguments, of any size from 0. Keys may be out of range.
std::vector<Tensor> RandomRelationArguments(std::mt19937& random);

}  // namespace pullback::testing
