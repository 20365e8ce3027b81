// Reverse mode over SSA with control flow (Innes 2018): the adjoint is built, not traced. Blocks run
// in reverse; loops that are left through their header keep a trip count, joins of a branch read its
// condition, other joins a recorded tag; values that the reverse needs and that are not known there
// are pushed on a typed LIFO tape, block by block. A function that is called is split into a forward
// half that pushes and a reverse half that pops, so that recursion needs nothing more. A function with
// derivative rules is called as it is, and in the reverse its rule; a checkpointed call keeps its
// arguments, and its reverse is the function's whole gradient.
#pragma once

#include <vector>

#include "core/ad/mixed.h"
#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

enum class Seed : uint8_t {
  kOne,    // the cotangent of the single float result is 1
  kParams  // one more parameter for every result that carries a tangent
};

// A new function of `module`: (params of f…, seeds…) -> (results of f…, cotangent of every parameter
// with wrt true whose type carries one…). UNIMPLEMENTED where a derivative is missing.
StatusOr<uint32_t> BuildGradient(ir::Module& module, uint32_t f, const std::vector<bool>& wrt,
                                 Seed seed, Mixed mixed = Mixed::kAuto);

// A new function: (params of f…, cotangent of every result in `results` that carries one…) -> the
// cotangent of every parameter in `wrt` that carries one. It runs f again for what the reverse needs.
StatusOr<uint32_t> BuildPullback(ir::Module& module, uint32_t f, const std::vector<bool>& wrt,
                                 const std::vector<bool>& results);

}  // namespace pullback::ad
