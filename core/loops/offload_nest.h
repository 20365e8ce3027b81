// Plans one nest of loops for a device (offload.h).
#pragma once

#include <string>

#include "core/loops/offload.h"
#include "core/loops/offload_fit.h"

namespace pullback::loops {

// Fills `nest` for the loop `root`, all nodes of which are fit; `plan` knows the constants. Empty: done; else
// why the nest stays on the host.
std::string PlanNest(const Module& module, DeviceFit& fit, const Function& f,
                     const OffloadPlan& plan, const Node& root, OffloadNest* nest);

}  // namespace pullback::loops
