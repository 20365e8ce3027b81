// Moving instructions of a body into statements of their own.
#pragma once

#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

// Instruction k of the statement's body becomes a statement of its own, which is appended to `before`: over
// the indices that `needs` marks (BodyGraph::NeedsOf), where the statement's predicate and the instruction's
// guard hold. The statement reads what it stores.
void StoreInstruction(ir::Inst& statement, size_t k, const std::vector<bool>& needs,
                      ir::Function& f, std::vector<ir::Inst>& before);

// A result's guard that is affine moves to `where`, if it is the statement's only result.
void MoveGuardToWhere(ir::Each& each);

}  // namespace pullback::tensor
