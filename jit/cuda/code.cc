#include "jit/cuda/code.h"

#include "core/base/bytes.h"
#include "jit/cuda/run.h"

namespace pullback::jit::cuda {

std::string Write(const DeviceCode& code) {
  std::string out;
  AppendField(out, code.host.bytes);
  AppendField(out, code.host.entry_symbol);
  AppendField(out, code.image);
  AppendNumber(out, static_cast<uint32_t>(code.kernels.size()));
  for (const DeviceKernel& kernel : code.kernels) {
    AppendField(out, kernel.name);
    AppendNumber(out, kernel.block);
    AppendNumber(out, kernel.shared_bytes);
    AppendNumber(out, kernel.checks ? 1 : 0);
    AppendNumber(out, kernel.ordered.buckets);
    AppendNumber(out, kernel.ordered.joiners);
    std::string params;
    for (const DeviceKernel::Param p : kernel.params) params += static_cast<char>(p);
    AppendField(out, params);
  }
  return out;
}

StatusOr<DeviceCode> Read(const std::string& bytes) {
  ByteReader reader(bytes);
  DeviceCode code;
  code.host.bytes = reader.Field();
  code.host.entry_symbol = reader.Field();
  code.image = reader.Field();
  const uint32_t count = reader.Number();
  bool known = true;
  for (uint32_t k = 0; k < count && reader.good(); ++k) {
    DeviceKernel kernel;
    kernel.name = reader.Field();
    kernel.block = reader.Number();
    kernel.shared_bytes = reader.Number();
    kernel.checks = reader.Number() != 0;
    kernel.ordered.buckets = reader.Number();
    kernel.ordered.joiners = reader.Number();
    for (const char p : reader.Field()) {
      known = known && p >= 0 && p <= static_cast<char>(DeviceKernel::Param::kLanes);
      kernel.params.push_back(static_cast<DeviceKernel::Param>(p));
    }
    known = known && kernel.block > 0;
    code.kernels.push_back(std::move(kernel));
  }
  if (!known || !reader.at_end()) {
    return Status(Code::kInternal, "OBJECT_REJECTED", "the device's code is not whole");
  }
  return code;
}

// The context may have failed already; then its end takes the module with it.
void Kernels::Unload() {
  const Driver& driver = device_->driver();
  if (module_ != nullptr && driver.cuCtxSetCurrent(loaded_.life->context()) == kSuccess) {
    driver.cuModuleUnload(module_);
  }
  module_ = nullptr;
  loaded_ = {};
}

Kernels::~Kernels() { Unload(); }

StatusOr<Kernels::Loaded> Kernels::Load() {
  const std::lock_guard lock(mutex_);
  PB_ASSIGN_OR_RETURN(std::shared_ptr<Device::Life> life, device_->Current());
  if (module_ != nullptr && loaded_.life == life) return loaded_;
  Unload();
  loaded_.life = life;
  const Status status = LoadModule();
  if (status.ok()) return loaded_;
  Unload();
  if (status.reason() != "DEVICE_MEMORY") device_->Abandon(life);
  return status;
}

Status Kernels::LoadModule() {
  const Driver& driver = device_->driver();
  PB_RETURN_IF_ERROR(
      device_->Explain(driver.cuCtxSetCurrent(loaded_.life->context()), "taking the context up"));
  Module module = nullptr;
  PB_RETURN_IF_ERROR(
      device_->Explain(driver.cuModuleLoadData(&module, image_.data()), "loading kernels"));
  module_ = module;
  for (const DeviceKernel& kernel : kernels_) {
    Function f = nullptr;
    PB_RETURN_IF_ERROR(
        device_->Explain(driver.cuModuleGetFunction(&f, module_, kernel.name.c_str()),
                         "finding kernel " + kernel.name));
    loaded_.functions.push_back(f);
  }
  return {};
}

StatusOr<std::unique_ptr<DeviceRun>> CudaCode::StartRun(RunContext* c) {
  PB_ASSIGN_OR_RETURN(Kernels::Loaded loaded, kernels_->Load());
  return std::unique_ptr<DeviceRun>(std::make_unique<CudaRun>(c, kernels_, std::move(loaded)));
}

}  // namespace pullback::jit::cuda
