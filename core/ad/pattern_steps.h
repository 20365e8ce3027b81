// One step of a pattern, from an element of what an instruction makes to the elements that it reads.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/ad/pattern_pieces.h"

namespace pullback::ad {

// The elements of a piece are subscripts of the pattern's result, then of a value that is on the way to it.
struct PatternRead {
  ir::Value source;
  PatternPiece piece;
};

// What is between a result of rank `rank` and a parameter; nothing else is followed.
struct PatternWay {
  size_t rank = 0;
  std::function<bool(ir::Value)> has;
};

// Of result k of an instruction, in the order in which it reads. nullopt: not followed.
std::optional<std::vector<PatternRead>> PatternReads(PatternIntegers& integers,
                                                     const PatternWay& way, const ir::Inst& inst,
                                                     size_t k, const PatternPiece& piece);
// By axis.
std::optional<std::vector<ir::Affine>> PatternExtents(PatternIntegers& integers, ir::Value v);

}  // namespace pullback::ad
