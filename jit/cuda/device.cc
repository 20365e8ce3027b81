#include "jit/cuda/device.h"

#include <algorithm>

namespace pullback::jit::cuda {
namespace {

Status NoDevice(const std::string& why) {
  return {Code::kFailedPrecondition, "NO_DEVICE", "there is no CUDA device here: " + why};
}

std::string TextOf(const Driver& driver, Result result) {
  const char* text = nullptr;
  if (driver.cuGetErrorString(result, &text) != kSuccess || text == nullptr) text = "no text";
  return "error " + std::to_string(result) + ", " + text;
}

// What there is code for; newer devices take the PTX of sm_90.
constexpr int kArchs[] = {75, 80, 86, 87, 89, 90};

}  // namespace

StatusOr<std::shared_ptr<Device>> Device::Open(const Driver& driver,
                                               const CublasLoader& load_cublas) {
  int count = 0;
  if (const Result r = driver.cuInit(0); r != kSuccess) return NoDevice(TextOf(driver, r));
  if (const Result r = driver.cuDeviceGetCount(&count); r != kSuccess || count == 0) {
    return NoDevice(r != kSuccess ? TextOf(driver, r) : "the driver finds none");
  }
  DeviceNumber number = 0;
  char name[256] = {};
  int major = 0, minor = 0;
  for (const Result r :
       {driver.cuDeviceGet(&number, 0), driver.cuDeviceGetName(name, sizeof name - 1, number),
        driver.cuDeviceGetAttribute(&major, kComputeCapabilityMajor, number),
        driver.cuDeviceGetAttribute(&minor, kComputeCapabilityMinor, number)}) {
    if (r != kSuccess) return NoDevice(TextOf(driver, r));
  }
  const int* above = std::upper_bound(std::begin(kArchs), std::end(kArchs), 10 * major + minor);
  if (above == std::begin(kArchs)) {
    return NoDevice(std::string(name) + " is older than compute capability 7.5");
  }
  return std::make_shared<Device>(driver, load_cublas, number, name,
                                  "sm_" + std::to_string(above[-1]));
}

const Cublas* Device::cublas() {
  std::call_once(once_, [&] {
    if (const StatusOr<Cublas> loaded = load_cublas_(); loaded.ok()) cublas_ = *loaded;
  });
  return cublas_ ? &*cublas_ : nullptr;
}

std::string Device::blas() {
  return cublas() != nullptr ? NameOf(*cublas_) + ", " + name_ : "no cuBLAS";
}

Status Device::Explain(Result result, const std::string& doing) const {
  if (result == kSuccess) return {};
  const std::string text = doing + " on " + name_ + ": " + TextOf(driver_, result);
  if (result == kOutOfMemory) return {Code::kResourceExhausted, "DEVICE_MEMORY", text};
  return {Code::kInternal, "DEVICE_FAULT", text};
}

Status Device::ExplainBlas(BlasResult result) const {
  if (result == kBlasSuccess) return {};
  const std::string text = "cuBLAS on " + name_ + ": status " + std::to_string(result);
  if (result == kBlasAllocationFailed) return {Code::kResourceExhausted, "DEVICE_MEMORY", text};
  return {Code::kInternal, "DEVICE_FAULT", text};
}

// The handle ends in its context. One whose context cannot be taken up any more is left behind: the library would look
// at whatever context is current.
Device::Life::~Life() {
  if (blas_ != nullptr && driver_.cuCtxSetCurrent(context_) == kSuccess) destroy_(blas_);
  driver_.cuCtxDestroy(context_);
}

BlasResult Device::Life::Blas(const Cublas& cublas, BlasHandle* handle) {
  const std::lock_guard lock(mutex_);
  if (blas_ == nullptr) {
    if (const BlasResult r = cublas.cublasCreate(&blas_); r != kBlasSuccess) {
      blas_ = nullptr;
      return r;
    }
    destroy_ = cublas.cublasDestroy;
  }
  *handle = blas_;
  return kBlasSuccess;
}

StatusOr<std::shared_ptr<Device::Life>> Device::Current() {
  const std::lock_guard lock(mutex_);
  if (current_ == nullptr) {
    Context context = nullptr;
    PB_RETURN_IF_ERROR(Explain(driver_.cuCtxCreate(&context, 0, number_), "making a context"));
    current_ = std::make_shared<Life>(driver_, context);
  }
  const Status taken =
      Explain(driver_.cuCtxSetCurrent(current_->context()), "taking the context up");
  if (taken.ok()) return current_;
  current_ = nullptr;
  return taken;
}

void Device::Abandon(const std::shared_ptr<Life>& life) {
  const std::lock_guard lock(mutex_);
  if (current_ == life) current_ = nullptr;
}

}  // namespace pullback::jit::cuda
