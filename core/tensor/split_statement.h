// Moving instructions of a body into statements of their own.
#pragma once

#include <vector>

#include "core/ir/ir.h"
#include "core/tensor/body_graph.h"

namespace pullback::tensor {

// Instruction k of the statement's body becomes a statement of its own, which is appended to `before`: over
// its space, where its guard holds. The statement reads what it stores.
void StoreInstruction(ir::Inst& statement, size_t k, const Space& space, ir::Function& f,
                      std::vector<ir::Inst>& before);

// 5.22-5.24 on one statement: its guards are single predicates, and what all of it is under stands in `where`.
void PushGuardsOut(ir::Each& each);

// A result's guard that is affine moves to `where`, if it is the statement's only result.
void MoveGuardToWhere(ir::Each& each);

// A copy that makes only this result, under such a guard.
ir::Inst ResultAlone(const ir::Inst& statement, size_t result, ir::Function& f);

}  // namespace pullback::tensor
