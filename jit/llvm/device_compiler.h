// Modules that run in part on a device: host code by the LLVM back end, kernels through LLVM's NVPTX target.
#pragma once

#include <memory>

#include "jit/device_code.h"

namespace pullback::jit {

// INTERNAL, NO_BACKEND, when the host cannot be targeted. Needs no device and no driver.
StatusOr<std::shared_ptr<DeviceCompiler>> MakeDeviceCompiler();

}  // namespace pullback::jit
