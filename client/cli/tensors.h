// Between JSON and tensors, by their type; the forms are those of values.h.
#pragma once

#include <string>

#include "client/cli/json.h"
#include "core/base/status.h"
#include "core/base/tensor.h"

namespace pullback::cli {

// `what` begins each message. INVALID_ARGUMENT, TYPE_MISMATCH.
StatusOr<Tensor> ToTensor(const Json& json, const ApiType& type, const std::string& what);
Json FromTensor(const Tensor& tensor);

}  // namespace pullback::cli
