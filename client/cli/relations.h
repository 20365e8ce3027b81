// Relations in JSON: {"shape": [n, m], "coo": [[i, …], [j, …]]}, or of rows and columns
// {"shape": [n, m], "csr": [[row starts…], [columns…]]}.
#pragma once

#include <string>

#include "client/cli/json.h"
#include "core/base/status.h"
#include "core/base/tensor.h"

namespace pullback::cli {

// INVALID_ARGUMENT: TYPE_MISMATCH, INVALID_VALUE.
StatusOr<ApiValue> ToRelation(const Json& json, const ApiType& type, const std::string& what);

}  // namespace pullback::cli
