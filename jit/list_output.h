// Lists of the runtime, made values of the API.
#pragma once

#include <memory>

#include "core/base/lists.h"
#include "jit/copy_budget.h"
#include "jit/list_types.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

// With `floats` without what holds none. What is too large, or nests more than kMaxListNesting lists
// (RESOURCE_EXHAUSTED, RECURSION_LIMIT), fails the budget. NaNs come out as the canonical one. The run
// keeps the list: giving it up takes time, and only the run itself can be stopped in it.
std::shared_ptr<const ListData> CopyList(const List* list, const ListType& type, bool floats,
                                         CopyBudget& budget);

}  // namespace pullback::jit
