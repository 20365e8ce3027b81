// The operators `jacobian` and `hessian` of a program with all seeds at once (core/ad/seeded_jacobian.h).
#pragma once

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/pipeline/pass.h"

namespace pullback::pipeline {

// Functions of ir::AddJacobian that loop over seeds become straight-line code where what they differentiate is,
// and every block comes out as one statement; the others stay. Comes before their calls are inlined.
Status SeedOperators(PassRunner& passes, ir::Module& m);

}  // namespace pullback::pipeline
