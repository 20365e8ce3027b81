// Where the fields of a record lie as generated code hands it over: words of 8 bytes, arrays first, then
// lists, then scalars (List of jit/runtime/context.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::jit {

struct RecordPlan {
  int64_t word = 0;           // RecordLayout
  std::vector<size_t> place;  // by field: its word
};
RecordPlan PlanRecord(const std::vector<ir::Type>& fields);

}  // namespace pullback::jit
