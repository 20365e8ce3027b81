#include "jit/cuda/driver.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace pullback::jit::cuda {
namespace {

Status NoDevice(const std::string& why) {
  return {Code::kFailedPrecondition, "NO_DEVICE", "there is no CUDA device here: " + why};
}

}  // namespace

StatusOr<Driver> LoadDriver(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return NoDevice(dlerror());
  Driver driver{};
  std::string missing;
  const auto find = [&](auto& member, const char* symbol) {
    void* address = dlsym(handle, symbol);
    if (address == nullptr) missing += std::string(missing.empty() ? "" : ", ") + symbol;
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(address);
  };
  find(driver.cuInit, "cuInit");
  find(driver.cuDeviceGetCount, "cuDeviceGetCount");
  find(driver.cuDeviceGet, "cuDeviceGet");
  find(driver.cuDeviceGetName, "cuDeviceGetName");
  find(driver.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  find(driver.cuCtxCreate, "cuCtxCreate_v2");
  find(driver.cuCtxDestroy, "cuCtxDestroy_v2");
  find(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
  find(driver.cuModuleLoadData, "cuModuleLoadData");
  find(driver.cuModuleUnload, "cuModuleUnload");
  find(driver.cuModuleGetFunction, "cuModuleGetFunction");
  find(driver.cuMemAlloc, "cuMemAlloc_v2");
  find(driver.cuMemFree, "cuMemFree_v2");
  find(driver.cuMemcpyHtoD, "cuMemcpyHtoD_v2");
  find(driver.cuMemcpyDtoH, "cuMemcpyDtoH_v2");
  find(driver.cuMemcpyDtoD, "cuMemcpyDtoD_v2");
  find(driver.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  find(driver.cuStreamCreate, "cuStreamCreate");
  find(driver.cuStreamDestroy, "cuStreamDestroy_v2");
  find(driver.cuStreamQuery, "cuStreamQuery");
  find(driver.cuMemsetD8, "cuMemsetD8_v2");
  find(driver.cuLaunchKernel, "cuLaunchKernel");
  find(driver.cuGetErrorString, "cuGetErrorString");
  if (missing.empty()) return driver;
  dlclose(handle);
  return NoDevice(std::string(library) + " lacks " + missing);
}

}  // namespace pullback::jit::cuda
