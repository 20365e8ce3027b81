// What requests make sure of (jit/arguments.cc), said in the program: tangents have the sizes of their parameters.
#pragma once

#include <vector>

#include "core/ir/ir.h"

namespace pullback::pipeline {

// The entry: (parameters of `primal`…, a tangent for every one in wrt that carries one…). It checks their sizes once, so
// that no access of a tangent needs a check of its own.
void CheckTangentSizes(ir::Module& m, uint32_t primal, const std::vector<bool>& wrt);

}  // namespace pullback::pipeline
