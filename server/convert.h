// Between protobuf messages and the engine's structs. Nothing below this knows what a protobuf is.
#pragma once

#include "core/base/status.h"
#include "jit/engine.h"
#include "pullback/v1/service.pb.h"
#include "server/program_texts.h"

namespace pullback::server {

// INVALID_ARGUMENT, INVALID_REQUEST with the path of the field that is missing or wrong.
// Tables become their canonical text; theirs are other reasons (proto/program/tables.h).
StatusOr<jit::KernelRequest> ToKernelRequest(const v1::KernelSpec& spec, ProgramTexts* texts);

void ToMessage(const jit::TextView& view, v1::Signature* message);
void ToMessage(const std::vector<jit::Timing>& timings, v1::Timings* message);
// Value and derivatives, named by the view's wrt where there is one derivative for each.
void ToMessage(const jit::Outputs& outputs, const jit::TextView& view,
               v1::EvaluateResponse* message);
// All but the values, whose derivatives are there already, without names.
void ReportToMessage(const jit::RunReport& report, const jit::TextView& view,
                     v1::EvaluateResponse* message);

// Results that are tensors go where the answer is.
class ResponseSink final : public jit::TensorSink {
 public:
  explicit ResponseSink(v1::EvaluateResponse* message) : message_(message) {}
  std::string* Begin(size_t number, DType dtype, std::span<const int64_t> shape) override;

 private:
  v1::EvaluateResponse* const message_;
};

}  // namespace pullback::server
