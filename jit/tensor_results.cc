#include "jit/tensor_results.h"

#include "jit/arguments.h"
#include "jit/copy_elements.h"

namespace pullback::jit {
namespace {

void CopyTensor(RunContext* context, CopyBudget& budget, const ApiType& type, uint64_t slot,
                size_t number, TensorSink* sink) {
  if (type.dims.empty()) return CopyScalar(type.dtype, slot, sink->Begin(number, type.dtype, {}));
  auto* a = reinterpret_cast<Array*>(slot);  // NOLINT(performance-no-int-to-ptr): a result slot
  if (!budget.Charge(a->bytes)) return;
  const std::span<const int64_t> shape(a->dims, type.dims.size());
  CopyElements(budget, type.dtype, *a, sink->Begin(number, type.dtype, shape));
  ReleaseResult(context, a);
}

// The slot holds the value, whose array is not released yet.
Status CheckSeed(const TextView& view, uint64_t slot, const TensorView& seed) {
  const size_t rank = view.signature.result.dims.size();
  if (rank == 0) return {};
  const auto* value = reinterpret_cast<const Array*>(slot);  // NOLINT(performance-no-int-to-ptr)
  return CheckCotangent(view, seed, {value->dims, rank});
}

}  // namespace

Status CopyTensors(RunContext* context, const TextView& view, const Derivation& derivation,
                   const uint64_t* slots, const TensorInputs& inputs, TensorSink* sink) {
  CopyBudget budget(context, view);
  const ApiType& result = view.signature.result;
  if (derivation.transform == Transform::kVjp) {
    PB_RETURN_IF_ERROR(CheckSeed(view, slots[0], inputs.seeds[0]));
  }
  CopyTensor(context, budget, result, *slots++, 0, sink);
  if (derivation.transform == Transform::kJvp) {
    CopyTensor(context, budget, result, *slots++, 1, sink);
  } else if (derivation.transform != Transform::kValue) {
    for (size_t i : InSlotOrder(derivation.wrt)) {
      const ApiType& type = view.signature.params[derivation.wrt[i]].type;
      CopyTensor(context, budget, type, *slots++, i + 1, sink);
    }
  }
  return budget.status();
}

}  // namespace pullback::jit
