// Which cotangents travel along which reversed edge: liveness of active values by their
// differentiable uses.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ad/prepare.h"
#include "core/analysis/activity.h"

namespace pullback::ad {

// live_out[b]: active values, defined in or above b, whose cotangent the reverse of b takes over from
// the reverse of its successors (uses below b, and arguments of its edges). `at_exit`: values that have a
// cotangent where the function returns already. Sorted by value.
std::vector<std::vector<ir::Value>> CotangentsLiveOut(const ir::Function& f,
                                                      const analysis::Activity& activity,
                                                      const std::vector<ir::Value>& at_exit);

}  // namespace pullback::ad
