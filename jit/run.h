// One run of a kernel.
#pragma once

#include "core/base/status.h"
#include "jit/engine.h"
#include "jit/kernel.h"

namespace pullback::jit {

// As Engine::Run. On the calling thread, in a context that the thread keeps: nothing is allocated but
// what the kernel asks for and the answer.
StatusOr<Outputs> RunOnce(const Kernel& kernel, const TextView& view, const Inputs& inputs,
                          const RunLimits& limits);
bool RunsOnTensors(const Kernel& kernel, const TextView& view);
StatusOr<RunReport> RunOnce(const Kernel& kernel, const TextView& view, const TensorInputs& inputs,
                            const RunLimits& limits, TensorSink* sink);

}  // namespace pullback::jit
