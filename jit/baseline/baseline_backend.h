// Tier 0: asmjit's assembler, one pass over the loops, a slot in the frame for every register: code within
// microseconds, that gives the bits of every other tier. asmjit's headers appear in this folder only.
#pragma once

#include <memory>

#include "core/base/status.h"
#include "jit/backend.h"

namespace pullback::jit {

struct BaselineOptions {
  bool validate = false;  // asmjit checks every instruction: slow, for tests
};

// INTERNAL, NO_BACKEND, when the host is not an x86-64 with SSE4.1. Its objects are its own
// (jit/baseline/object.h); the optimisation level changes nothing. Dump knows the stage "asm".
StatusOr<std::shared_ptr<Backend>> MakeBaselineBackend(const BaselineOptions& options = {});

}  // namespace pullback::jit
