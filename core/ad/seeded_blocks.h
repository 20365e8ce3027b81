// Jacobians of any code by pushing many seeds at once: the tangent function with an axis of seeds behind every
// tangent (batch_blocks.h), called for one chunk of seeds after the other; or the gradient with one behind every
// cotangent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ad/seeded_jacobian.h"
#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

struct ChunkSizes {
  // A chunk is as many seeds as keep the tangents of arguments and results within so many elements, yet no
  // fewer than `least`: what is stored is at most that many times what one seed stores.
  int64_t elements = int64_t{1} << 18;
  int64_t least = 64;
  // Of a Hessian, where the tangents of a tape are kept too: as many as a few vectors hold.
  int64_t with_tape = 16;
  // Cotangents are run where there are more than this many parameters' elements for each of the results: a row
  // costs about as much as this many columns.
  int64_t columns_per_row = 4;
  // Fewer rows than this are run one at a time: rows of few seeds are slower than rows of a program's own arrays.
  int64_t least_rows = 16;
};

// A new function with the parameters and results of SeedJacobian's. Unless `of_gradient`, it runs cotangents too, in
// chunks where the gradient has a form for many, and one after the other by `vjp`. Nothing where parameters or results are all scalars, or straight-line code calls
// functions in bodies, all of which are better seeded one by one; and where the code has no form for many
// seeds. `module` is then to be thrown away.
// `of_gradient`: f is a gradient, its differentiated results those by the parameters in wrt.
StatusOr<std::optional<uint32_t>> SeedInChunks(ir::Module& module, uint32_t f,
                                               const std::vector<bool>& wrt,
                                               const JacobianRows& rows, bool of_gradient,
                                               const ChunkSizes& sizes = {});

}  // namespace pullback::ad
