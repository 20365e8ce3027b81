// Which elements of a result depend on which elements of a parameter, told before anything runs: for straight-line
// code, composed statement by statement from the steps of sparse_pattern.h, from the result back to the parameter.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/ad/pattern_pieces.h"
#include "core/ad/seeded_jacobian.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// The elements of all pieces, which may name one several times; subscripts are those of the result, then those of
// the parameter. They hold in every run that does not trap. No element is missed: what is asked of floats, and of
// integers that calls or whole arrays give, counts as true. Without these they are those that are found when it
// runs.
struct SymbolicPattern {
  bool everywhere = false;  // every element, if no axis is empty that is summed over; and no pieces
  std::vector<PatternPiece> pieces;
};

// By block, in order; none: code with control flow or calls, lists, subscripts that have no form, too many pieces.
struct SymbolicPatterns {
  ir::Function function;  // of types and names
  PatternAtoms atoms;
  std::vector<std::optional<SymbolicPattern>> blocks;
};
SymbolicPatterns FindSymbolicPatterns(const ir::Module& module, uint32_t f,
                                      const std::vector<bool>& wrt, const JacobianRows& rows);

}  // namespace pullback::ad
