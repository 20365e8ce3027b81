// Between JSON and the values of the API, by their type.
//
// Scalars: numbers, true and false; NaN and infinities as "NaN", "Infinity", "-Infinity"; integers also
// as strings, which is how those beyond 2^53 are written. Arrays: nested lists, or {"shape", "dtype",
// "data"} with the elements in one list in row-major order ("data" may be left out where there are no
// elements). An array whose lists would not tell its shape, such as [0, 3], is written as such an
// object. Tuples: lists. Structs: objects; lists of the fields in order are read too. Lists: lists. In derivatives
// null stands for what holds no floats.
#pragma once

#include <string>

#include "client/cli/json.h"
#include "core/base/status.h"
#include "core/base/tensor.h"

namespace pullback::cli {

// `structs`: the signature's. `what` begins each message: "argument 'x'". INVALID_ARGUMENT: TYPE_MISMATCH,
// INVALID_VALUE.
StatusOr<ApiValue> ToValue(const Json& json, const ApiType& type, const ApiStructs& structs,
                           const std::string& what);
// A tangent or cotangent of something of this type.
StatusOr<ApiValue> ToDerivative(const Json& json, const ApiType& type, const ApiStructs& structs,
                                const std::string& what);

// Of a value, or of a derivative of something of this type.
Json FromValue(const ApiValue& value, const ApiType& type, const ApiStructs& structs);

}  // namespace pullback::cli
