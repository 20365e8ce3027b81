#include "jit/results.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "jit/leaves.h"
#include "jit/trap.h"

namespace pullback::jit {
namespace {

constexpr size_t kSlice = size_t{1} << 20;  // copied between two looks at `stop`

class Copier {
 public:
  Copier(RunContext* context, const TextView& view, const uint64_t* slots)
      : context_(context), view_(view), next_(slots) {}

  void Copy(const ApiType& type, ApiValue* value) { Walk(type, /*floats_only=*/false, value); }
  void CopyFloats(const ApiType& type, ApiValue* value) { Walk(type, /*floats_only=*/true, value); }
  const Status& status() const { return status_; }

 private:
  void Walk(const ApiType& type, bool floats_only, ApiValue* value);
  void CopyScalar(DType dtype, uint64_t slot, Tensor* t);
  void CopyArray(const ApiType& type, Array* a, Tensor* t);
  bool Charge(int64_t bytes);
  void CopyBytes(const uint8_t* from, size_t size, std::vector<uint8_t>* to);
  void Release(Array* a);
  void Fail(ir::TrapKind kind, int64_t a, int64_t b) {
    if (status_.ok()) status_ = TrapStatus({kind, 0, a, b}, {view_.places, view_.text});
  }

  RunContext* const context_;
  const TextView& view_;
  const uint64_t* next_;
  Status status_;
};

void Copier::Walk(const ApiType& type, bool floats_only, ApiValue* value) {
  if (type.is_tuple) {
    value->is_tuple = true;
    value->elements.resize(type.elements.size());
    for (size_t i = 0; i < type.elements.size(); ++i) {
      Walk(type.elements[i], floats_only, &value->elements[i]);
    }
  } else if (floats_only && !IsFloat(type.dtype)) {
    value->is_tuple = true;
  } else if (type.dims.empty()) {
    CopyScalar(type.dtype, *next_++, &value->tensor);
  } else {
    // A kernel writes its results as words.
    CopyArray(type, reinterpret_cast<Array*>(*next_++),  // NOLINT(performance-no-int-to-ptr)
              &value->tensor);
  }
}

// Slots are little-endian words: what is narrower lies in the low bytes.
void Copier::CopyScalar(DType dtype, uint64_t slot, Tensor* t) {
  t->dtype = dtype;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&slot);
  t->data.assign(bytes, bytes + DTypeSize(dtype));
}

void Copier::CopyArray(const ApiType& type, Array* a, Tensor* t) {
  if (!status_.ok() || !Charge(a->bytes)) return;
  t->dtype = type.dtype;
  t->shape.assign(a->dims, a->dims + type.dims.size());
  CopyBytes(static_cast<const uint8_t*>(a->data), static_cast<size_t>(a->bytes), &t->data);
  Release(a);
}

// One array may be several results, so that what the run holds is no bound on what is copied.
bool Copier::Charge(int64_t bytes) {
  if (bytes > context_->bytes_budget - context_->bytes_used) {
    Fail(ir::TrapKind::kMemory, bytes, context_->bytes_budget);
    return false;
  }
  context_->bytes_used += bytes;
  context_->peak_bytes = std::max(context_->peak_bytes, context_->bytes_used);
  return true;
}

void Copier::CopyBytes(const uint8_t* from, size_t size, std::vector<uint8_t>* to) {
  to->reserve(size);
  for (size_t at = 0; at < size; at += kSlice) {
    const int32_t stop = context_->stop.load(std::memory_order_relaxed);
    if (stop != 0) return Fail(ir::TrapKind::kStopped, stop, 0);
    to->insert(to->end(), from + at, from + std::min(size, at + kSlice));
  }
}

// Inputs that are results are pinned, and never the run's to free.
void Copier::Release(Array* a) {
  if (--a->refs == 0) pb_free(context_, a);
}

}  // namespace

Status CopyResults(RunContext* context, const TextView& view, const Derivation& derivation,
                   const uint64_t* slots, Outputs* outputs) {
  Copier copier(context, view, slots);
  copier.Copy(view.signature.result, &outputs->value);
  if (derivation.transform == Transform::kJvp) {
    copier.CopyFloats(view.signature.result, &outputs->derivatives.emplace_back());
  } else if (derivation.transform != Transform::kValue) {
    // Slots lie in the order of the parameters, the answer in that of wrt.
    const std::vector<uint32_t>& wrt = derivation.wrt;
    absl::InlinedVector<uint32_t, 16> order(wrt.begin(), wrt.end());
    std::sort(order.begin(), order.end());
    outputs->derivatives.resize(wrt.size());
    for (uint32_t p : order) {
      const auto i = static_cast<size_t>(std::find(wrt.begin(), wrt.end(), p) - wrt.begin());
      copier.CopyFloats(view.signature.params[p].type, &outputs->derivatives[i]);
    }
  }
  return copier.status();
}

}  // namespace pullback::jit
