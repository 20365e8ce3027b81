// Derivatives that functions bring along (`vjp @g`, `jvp @g` in a function's header). The mode that a
// function has no rule for comes from the other one, since both are linear: the jvp rule is transposed
// by reverse mode over its tangents, the vjp rule by reverse mode over its seeds, both at zero.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// By position: whether the type carries a tangent.
std::vector<bool> Carrying(const ir::Module& module, const std::vector<ir::Type>& types);
std::vector<ir::Type> ParamTypes(const ir::Function& f);

// Of a function with a rule: (params of f…, cotangent of every result that carries one…) ->
// cotangent of every parameter that carries one.
StatusOr<uint32_t> PullbackByRule(ir::Module& module, uint32_t f);

// Writes the code of `target`, which has the parameters and results of Tangents::Jvp(f, active, width)
// and an empty entry block.
Status WriteJvpByRule(ir::Module& module, uint32_t f, uint32_t target,
                      const std::vector<bool>& active, int width);

}  // namespace pullback::ad
