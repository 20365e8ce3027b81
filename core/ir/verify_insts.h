// Invariants 2, 4 (calls), 5 (shape of affine forms) and 6: what can be said of one instruction.
#pragma once

#include <string>

#include "core/ir/ir.h"

namespace pullback::ir::internal {

// Empty when `inst` is in order, else what is wrong. Every value it names must exist and have a
// type. `in_body`: it stands in the body of a tensor statement.
std::string CheckInst(const Inst& inst, bool in_body, const Function& f, const Module& m);

// Whether the derivative rules of `f` exist and fit; the message otherwise.
std::string CheckRules(const Function& f, const Module& m);

// Sorted, merged, of i64 values.
std::string CheckAffine(const Affine& a, const Function& f);

}  // namespace pullback::ir::internal
