// Arguments and seeds of a request, in the order of the kernel's parameters. Faults are INVALID_ARGUMENT:
// UNKNOWN_ARGUMENT, MISSING_ARGUMENT, DUPLICATE_ARGUMENT, INVALID_VALUE, with the path of the field.
#pragma once

#include "absl/container/inlined_vector.h"
#include "core/base/status.h"
#include "jit/engine.h"
#include "pullback/v1/service.pb.h"

namespace pullback::server {

StatusOr<jit::Inputs> ToInputs(const v1::EvaluateRequest& request, const jit::TextView& view);

// Whether every argument and seed is a tensor.
bool BringsTensors(const v1::EvaluateRequest& request);

// These, where they lie in the message, for a kernel that RunsOnTensors.
class RequestTensors {
 public:
  Status Read(const v1::EvaluateRequest& request, const jit::TextView& view);
  jit::TensorInputs inputs() const { return {args_, seeds_}; }

 private:
  absl::InlinedVector<TensorView, 8> args_, seeds_;
};

}  // namespace pullback::server
