// Kernels that were compiled for the host, run block by block, thread by thread.
#pragma once

#include <cstdint>

#include "jit/runtime/context.h"

namespace pullback::testing {

struct HostKernel {
  jit::KernelEntry entry;
  uint64_t number;
};
struct Geometry {
  unsigned grid, block, shared_bytes;
};
// `backwards`: the last block and thread first. Between any two barriers, where blocks share memory.
void RunBlocks(const HostKernel& kernel, const Geometry& geometry, bool backwards, void** params);

}  // namespace pullback::testing
