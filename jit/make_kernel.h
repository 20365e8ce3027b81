// From a checked program to live code: the slow path of a request.
#pragma once

#include <memory>
#include <optional>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "jit/backend.h"
#include "jit/kernel.h"
#include "jit/progress.h"
#include "jit/reading.h"
#include "jit/stored_kernel.h"

namespace pullback::jit {

// Stages lower, derive. Looks at the progress's limits between passes. A place that the pipeline names
// by its ordinal becomes a diagnostic of the reading's text.
StatusOr<pipeline::Staged> Stage(const Reading& reading, const Derivation& derivation,
                                 const pipeline::Options& options, const lang::Limits& limits,
                                 Progress& progress);

// Who makes code; without `baseline` there is no tier 0.
struct Backends {
  Backend& llvm;
  Backend* baseline = nullptr;
  DeviceBackend* device = nullptr;
};

// Then loops, codegen, link: in the build's tier; kAuto is tier 0, for LLVM to take over. INTERNAL, SIGNATURE_MISMATCH, when the passes made an entry that does not
// take and give what the signature says.
struct MadeKernel {
  std::shared_ptr<const Kernel> kernel;
  std::optional<StoredKernel> stored;  // to be kept: unless LLVM is to take over
};
StatusOr<MadeKernel> MakeKernel(const Reading& reading, const Build& build,
                                const lang::Limits& limits, const Backends& backends,
                                Progress& progress);

// From what was kept of it: stage link. INTERNAL, OBJECT_REJECTED, for what is not of this program.
StatusOr<std::shared_ptr<const Kernel>> RestoreKernel(const Reading& reading,
                                                      const StoredKernel& stored,
                                                      const Build& build, const Backends& backends,
                                                      Progress& progress);

}  // namespace pullback::jit
