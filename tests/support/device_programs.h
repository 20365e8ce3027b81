// Programs for tests of devices.
#pragma once

#include <vector>

#include "core/ir/ir.h"
#include "tests/support/programs.h"

namespace pullback::testing {

// Shapes of code that the plan for a device tells apart.
const std::vector<ProgramCase>& DeviceShapes();
// Those, and the lists of programs.h that may run on a device.
std::vector<ProgramCase> DevicePrograms();
// Whether a list is a parameter or a result: such programs need more than a kernel's slots.
bool HasLists(const ir::Module& final);

}  // namespace pullback::testing
