#include "jit/records.h"

#include "core/base/status.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

RecordPlan PlanRecord(const std::vector<ir::Type>& fields) {
  PB_CHECK(fields.size() < size_t{1} << RecordLayout::kBits);
  const auto rank = [](const ir::Type& t) { return t.IsArray() ? 0 : t.IsList() ? 1 : 2; };
  size_t first[3] = {};  // word of each kind
  for (const ir::Type& t : fields) {
    for (int k = rank(t) + 1; k < 3; ++k) ++first[k];
  }
  RecordPlan plan;
  plan.word =
      RecordLayout::Of(static_cast<int64_t>(first[1]), static_cast<int64_t>(first[2] - first[1]),
                       static_cast<int64_t>(fields.size()));
  for (const ir::Type& t : fields) plan.place.push_back(first[rank(t)]++);
  return plan;
}

}  // namespace pullback::jit
