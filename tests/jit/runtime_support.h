// Kernels that are plain functions.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "jit/runtime/context.h"

namespace pullback::jit {

// No destructor may be pending where a trap jumps out: extents come without a heap.
inline Array* Alloc(RunContext* c, std::initializer_list<int64_t> dims, int64_t elem_size = 8,
                    bool zero = true) {
  return pb_alloc(c, 7, elem_size, static_cast<int64_t>(dims.size()), dims.begin(), zero ? 1 : 0);
}

// Runs body(c) as a kernel; false when it trapped.
template <typename Fn>
bool RunBody(RunContext* c, Fn body) {
  static thread_local Fn* current = nullptr;
  current = &body;
  return RunKernel([](RunContext* ctx, const uint64_t*, uint64_t*) { (*current)(ctx); }, c, nullptr,
                   nullptr);
}

}  // namespace pullback::jit
