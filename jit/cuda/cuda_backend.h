// CUDA: host code that launches kernels through the driver API, which is looked for when it is first asked
// for. Nothing of CUDA is needed to build or to start.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "jit/cuda/code.h"
#include "jit/cuda/driver.h"
#include "jit/device_code.h"

namespace pullback::jit {

struct CudaOptions {
  std::optional<cuda::Driver> driver;  // in place of the machine's: for tests
  std::string arch;                    // in place of the device's
  cuda::Limits limits;
  cuda::CublasLoader load_cublas = [] { return cuda::LoadCublas(); };
};

std::shared_ptr<DeviceBackend> MakeCudaBackend(std::shared_ptr<DeviceCompiler> compiler,
                                               const CudaOptions& options = {});

}  // namespace pullback::jit
