// Host code with its kernels: what Compile makes, and what runs.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/cuda/device.h"
#include "jit/device_code.h"

namespace pullback::jit::cuda {

std::string Write(const DeviceCode& code);
// INTERNAL, OBJECT_REJECTED.
StatusOr<DeviceCode> Read(const std::string& bytes);

// Of terms that are joined in order. Terms take 16 bytes each; an iteration of the outer loops that has more
// gets the room all the same.
struct Limits {
  int64_t terms = int64_t{1} << 22;  // filed at once
  int64_t segments = 1 << 15;        // threads that make them
};

// The kernels' module, loaded once in each context.
class Kernels {
 public:
  Kernels(std::shared_ptr<Device> device, std::string image, std::vector<DeviceKernel> kernels,
          const Limits& limits)
      : device_(std::move(device)),
        image_(std::move(image)),
        kernels_(std::move(kernels)),
        limits_(limits) {}
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  struct Loaded {
    std::shared_ptr<Device::Life> life;
    std::vector<Function> functions;
  };
  // In the device's current context, which this thread takes up.
  StatusOr<Loaded> Load();
  Device& device() const { return *device_; }
  const std::vector<DeviceKernel>& kernels() const { return kernels_; }
  const Limits& limits() const { return limits_; }
  size_t bytes() const { return image_.size(); }

 private:
  void Unload();
  Status LoadModule();

  const std::shared_ptr<Device> device_;
  const std::string image_;
  const std::vector<DeviceKernel> kernels_;
  const Limits limits_;
  std::mutex mutex_;
  Loaded loaded_;
  Module module_ = nullptr;
};

class CudaCode : public LoadedCode {
 public:
  CudaCode(std::unique_ptr<LoadedCode> host, std::shared_ptr<Kernels> kernels)
      : host_(std::move(host)), kernels_(std::move(kernels)) {}
  KernelEntry entry() const override { return host_->entry(); }
  size_t bytes() const override { return host_->bytes() + kernels_->bytes(); }
  StatusOr<std::unique_ptr<DeviceRun>> StartRun(RunContext* c) override;

 private:
  const std::unique_ptr<LoadedCode> host_;
  const std::shared_ptr<Kernels> kernels_;
};

}  // namespace pullback::jit::cuda
