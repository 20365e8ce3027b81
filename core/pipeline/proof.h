// Tensor SSA and its adjoint, for the rules and the cost theorem of Bernstein et al.: a pipeline beside the one
// that makes kernels (pipeline.h). Straight-line code only is one program of theirs; with control flow, each
// block is.
#pragma once

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/pipeline/pipeline.h"

namespace pullback::pipeline {

// The passes of core/tensor/tensor_ssa.h in order, on a module as lowered. After each, what it promises is
// verified (INTERNAL, NOT_NORMAL otherwise) and `observer` sees it. Black boxes stay calls. UNIMPLEMENTED where a
// function with tensor statements takes or gives lists.
StatusOr<ir::Module> NormaliseForProof(const ir::Module& ssa, const Observer& observer = {});

// Dᵀ as core/ad makes it, statement by statement: (p…, cotangent of every float result) -> (r…, cotangent of every
// float parameter in wrt). Predicates are in lowest terms and pinned indices gone; nothing is fused.
StatusOr<ir::Module> AdjointForProof(const ir::Module& normal, const std::vector<bool>& wrt);

// D (6.1-6.13), likewise: (p…, tangent of every float parameter in wrt) -> (r…, tangent of every float result).
StatusOr<ir::Module> TangentForProof(const ir::Module& normal, const std::vector<bool>& wrt);

}  // namespace pullback::pipeline
