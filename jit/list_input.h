// Lists of a request, made lists of the runtime.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/lists.h"
#include "jit/list_types.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

struct ListInput {
  size_t slot = 0;                 // of the kernel's arguments
  const ListData* data = nullptr;  // sound, and of the type
  const ListType* type = nullptr;
};

// Puts each list into its slot, charged to the run. What a derivative leaves out is zero. False: the run
// trapped (kMemory, kStopped).
bool MakeInputLists(RunContext* c, const std::vector<ListInput>& lists,
                    std::vector<uint64_t>& slots);

}  // namespace pullback::jit
