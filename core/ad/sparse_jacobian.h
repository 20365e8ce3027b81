// Jacobians whose blocks are lists of elements (COO): the pattern is found when it runs (sparse_pattern.h),
// columns that share no row are given one colour (Curtis, Powell and Reid), and one tangent is pushed for each
// colour instead of one for each column; or rows and cotangents, where these need fewer colours.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ad/seeded_jacobian.h"
#include "core/ad/sparse_pattern.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// A new function: (params of f…) -> (results that are given…, and for every result that is differentiated
// and every float parameter in wrt, the parameters of the first result first:
//   how many seeds were run through f,
//   the shape [axes]i64: those of the result, then those of the parameter,
//   for each axis the coordinates of the elements [elements]i64, in lexicographic order,
//   the elements, of the parameter's element type).
// It holds `jvp`, and unless `forward_only`, or of a scalar result, `vjp`. Where the pattern is found neither by statements
// (sparse_pattern.h) nor, for code with control flow, by sets (set_pattern.h), all elements are given, which takes
// one seed for each column or row.
uint32_t AddSparseJacobian(ir::Module& module, uint32_t f, const std::vector<bool>& wrt,
                           const JacobianRows& rows, bool forward_only,
                           const SparseFunctions& functions);

// By block, in order: whether its pattern is found, where all elements are given otherwise. Takes a module of
// its own, which is then to be thrown away.
std::vector<bool> FoundPatterns(ir::Module module, uint32_t f, const std::vector<bool>& wrt,
                                const JacobianRows& rows, const SparseFunctions& functions);

}  // namespace pullback::ad
