// Programs for tests of devices.
#pragma once

#include <vector>

#include "core/ir/ir.h"
#include "core/loops/lower.h"
#include "tests/support/programs.h"

namespace pullback::testing {

// How the engine lowers what is for a device.
inline constexpr loops::LowerOptions kForDevices{false, false, true};

// Shapes of code that the plan for a device tells apart.
const std::vector<ProgramCase>& DeviceShapes();
// Gradients by arguments that were expanded, which are spread over loops of their own; and the kernels that they
// become: form, how many loops are threads or segments, what threads store, what is joined.
struct ExpandedCase {
  ProgramCase program;
  const char* kernels;
};
const std::vector<ExpandedCase>& ExpandedArguments();
// The shapes, and the lists of programs.h that may run on a device.
std::vector<ProgramCase> DevicePrograms();
// Whether a list is a parameter or a result: such programs need more than a kernel's slots.
bool HasLists(const ir::Module& final);

}  // namespace pullback::testing
