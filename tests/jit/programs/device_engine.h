// An engine on a driver without a device, for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"
#include "tests/support/fake_driver.h"

namespace pullback::jit {

inline std::shared_ptr<Backend> Llvm() {
  static const std::shared_ptr<Backend> backend = MakeLlvmBackend().value();
  return backend;
}

struct OnDevice {
  explicit OnDevice(std::shared_ptr<DeviceBackend> device = testing::FakeCudaBackend())
      : engine(With(std::move(device)), Llvm()) {}
  static EngineOptions With(std::shared_ptr<DeviceBackend> device) {
    testing::TheFakeDriver().Reset();
    EngineOptions options;
    options.device = std::move(device);
    return options;
  }
  StatusOr<Outputs> Run(const std::string& program, Target target, const Inputs& inputs,
                        Transform transform = Transform::kValue, const RunLimits& limits = {}) {
    KernelRequest request = Ask(program, "f", transform);
    request.options.target = target;
    PB_ASSIGN_OR_RETURN(const Handle handle, engine.Compile(request));
    return engine.Run(handle, inputs, limits);
  }
  Engine engine;
};

inline std::vector<double> Numbers(int64_t n) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(1.0 / static_cast<double>(i + 1));
  return v;
}

}  // namespace pullback::jit
