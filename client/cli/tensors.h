// Between JSON and tensors, by their type; the forms are those of values.h.
#pragma once

#include <string>

#include "client/cli/json.h"
#include "core/base/status.h"
#include "core/base/tensor.h"

namespace pullback::cli {

// INVALID_ARGUMENT, TYPE_MISMATCH; `what` begins each message.
Status Mismatch(const std::string& what, const std::string& fault);
StatusOr<Tensor> ToTensor(const Json& json, const ApiType& type, const std::string& what);
Json FromTensor(const Tensor& tensor);

}  // namespace pullback::cli
