// Types of operands and results by the op's row. Read by the builder, the parser and the verifier.
#pragma once

#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

// For the ops whose rule is not Own: nullptr when operands of these types are allowed, else what
// they should be. The count must be the op's.
const char* CheckOperandTypes(Op op, const std::vector<Type>& operands);

// The result types of `inst` as far as they follow from its operands. Type{} where they stand on the
// instruction itself (const, cast, the value of pop, the element of zeros) or do not follow because
// an operand has no type yet or a wrong one.
std::vector<Type> ResultTypes(const Inst& inst, const Function& f, const Module& m);

}  // namespace pullback::ir
