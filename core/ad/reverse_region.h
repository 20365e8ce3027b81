// Value and cotangents of a region of core/ad/adders.h in one go: what it calls gives both.
#pragma once

#include <functional>
#include <vector>

#include "core/ad/adders.h"
#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// Values and cotangents of a function of which the first `sums` parameters and results are sums, and other results integers:
//   (params…, cotangent of every result in `results`…, so far of every parameter in `params` behind the sums…, tape)
//   -> (results…, cotangent of every parameter in `params`…, tape)
// What is handed in has its full shape, and the tape is given back as it was. A sum is in `params` where it is in `results`.
using BothOf = std::function<StatusOr<uint32_t>(
    uint32_t f, size_t sums, const std::vector<bool>& params, const std::vector<bool>& results)>;

// Writes that of `region` into `target`, which has the parameters and results and no code: cotangents are handed from call to
// call as the sums are.
Status WriteRegion(ir::Module& module, uint32_t target, uint32_t region, const Adders& adders,
                   const std::vector<bool>& params, const std::vector<bool>& results,
                   const BothOf& both_of);

}  // namespace pullback::ad
