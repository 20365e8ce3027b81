// Tensor SSA and its adjoint, for the rules and the cost theorem of Bernstein et al.: a pipeline beside the one
// that makes kernels (pipeline.h). Straight-line code only is one program of theirs; with control flow, each
// block is.
#pragma once

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/pipeline/pipeline.h"

namespace pullback::pipeline {

// The passes of core/tensor/tensor_ssa.h in order, on a module as lowered. After each, what it promises is
// verified (INTERNAL, NOT_NORMAL otherwise) and `observer` sees it. Black boxes stay calls.
StatusOr<ir::Module> NormaliseForProof(const ir::Module& ssa, const Observer& observer = {});

// The value and Dᵀ of an entry with one float scalar result, seeded with 1, as core/ad transposes statement by
// statement: predicates in lowest terms and pinned indices gone, nothing fused.
StatusOr<ir::Module> AdjointForProof(const ir::Module& normal, const std::vector<bool>& wrt);

}  // namespace pullback::pipeline
