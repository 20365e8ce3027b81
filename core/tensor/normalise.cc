#include "core/tensor/normalise.h"

namespace pullback::tensor {

Status NormaliseTensors(ir::Module& module, const MayPin& may_pin) {
  for (auto& f : module.functions) {
    SplitIndices(*f);
    SimplifyPredicates(*f);
    SolveExists(*f);
    HoistGuards(*f);
    EliminatePinnedIndices(*f, may_pin);
    FreeGuardedReads(*f);
    LookUpIndices(*f);
    GatherSums(*f);
    // A gathered statement may have got a shared guard or an equality of its own.
    HoistGuards(*f);
    EliminatePinnedIndices(*f, may_pin);
    StoreSingleTerms(*f);
    SimplifyPredicates(*f);
  }
  return {};
}

}  // namespace pullback::tensor
