// Cells of a nest: arrays of one element in which a loop keeps its state (of a scan, of an argmax). Each turn of
// the loops around writes it before it reads it, and nothing reads it after the nest: so every thread of a
// device has one of its own.
#pragma once

#include <vector>

#include "core/loops/offload.h"

namespace pullback::loops {

// Those among the arrays that the loop `root` of `f` stores into; `plan` knows the constants.
std::vector<Reg> FindCells(const Function& f, const OffloadPlan& plan, const Node& root);

}  // namespace pullback::loops
