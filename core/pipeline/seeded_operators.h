// The operators `jacobian` and `hessian` of a program with all seeds at once (core/ad/seeded_jacobian.h).
#pragma once

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/pipeline/pass.h"

namespace pullback::pipeline {

// Functions of ir::AddJacobian that loop over seeds become straight-line code where what they differentiate is,
// and every block comes out as one statement; code with control flow gets chunks of seeds (core/ad/seeded_blocks.h)
// where nothing differentiates it again. The others stay. Comes before their calls are inlined. `differentiated`: the
// entry will be.
Status SeedOperators(PassRunner& passes, ir::Module& m, bool differentiated);

}  // namespace pullback::pipeline
