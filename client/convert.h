// Between the client's structs and protobuf messages.
#pragma once

#include "client/client.h"
#include "pullback/v1/service.pb.h"

namespace pullback::client {

void ToMessage(const KernelSpec& spec, v1::KernelSpec* message);
// rename: parameter names of the caller's own text, when the kernel goes by kernel_id; the values then
// travel by position. INVALID_ARGUMENT where a name is not among them.
Status ToMessage(const Inputs& inputs, const Signature* rename, v1::EvaluateRequest* message);

StatusOr<Compiled> FromMessage(const v1::CompileResponse& message);
// rename: names for the derivatives, by position, where there are as many.
StatusOr<Evaluation> FromMessage(const v1::EvaluateResponse& message, const Signature* rename);
ServerInfo FromMessage(const v1::GetServerInfoResponse& message);

}  // namespace pullback::client
