// A driver of CUDA without a device: memory is the host's, and a launch runs the kernels, compiled for the
// host, thread by thread in the order that is asked for; between any two barriers, where blocks share memory.
// Calls can be made to fail.
#pragma once

#include <cstdint>
#include <memory>

#include "jit/cuda/cuda_backend.h"

namespace pullback::testing {

struct FakeDriver {
  // --- to set
  bool backwards = false;  // the last thread first
  int64_t fail_at =
      -1;  // the call of this number (from 0) and, until its context ends, all after it fail …
  int fail_with = 700;  // … with this
  int devices = 1;
  bool asynchronous = false;  // launches come back at once
  bool cublas = false;        // the library is there, for backends that look for it then

  // --- to look at
  int64_t multiplied = 0;  // calls of cuBLAS that computed products
  int64_t tiled = 0;       // launches of blocks that share memory
  int64_t calls = 0, launches = 0, to_device = 0, to_host = 0, contexts = 0, live_allocations = 0;
  int64_t bytes = 0, most_bytes = 0;  // of live allocations; the most there were at a time

  void Reset();  // waits for what runs
  // --- of the fakes: every call but the end of a context comes through here, and what it gives
  jit::cuda::Result Call();
  void Settle();  // waits for what runs
};

// There is one: the table has no room for more.
FakeDriver& TheFakeDriver();
// A back end on it, whose kernels are compiled for this host.
std::shared_ptr<jit::DeviceBackend> FakeCudaBackend(const jit::cuda::Limits& limits = {});
const std::shared_ptr<jit::DeviceCompiler>& DeviceCompilerForTests();

}  // namespace pullback::testing
