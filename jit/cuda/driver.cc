#include "jit/cuda/driver.h"

#include <dlfcn.h>

#include <string>

#include "jit/runtime/dynamic_library.h"

namespace pullback::jit::cuda {
namespace {

Status NoDriver(const std::string& why) {
  return {Code::kFailedPrecondition, "NO_DEVICE", "there is no CUDA device here: " + why};
}

}  // namespace

StatusOr<Driver> LoadDriver(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return NoDriver(dlerror());
  Driver driver{};
  DynamicSymbols symbols(handle);
  symbols.Find(driver.cuInit, "cuInit");
  symbols.Find(driver.cuDeviceGetCount, "cuDeviceGetCount");
  symbols.Find(driver.cuDeviceGet, "cuDeviceGet");
  symbols.Find(driver.cuDeviceGetName, "cuDeviceGetName");
  symbols.Find(driver.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  symbols.Find(driver.cuCtxCreate, "cuCtxCreate_v2");
  symbols.Find(driver.cuCtxDestroy, "cuCtxDestroy_v2");
  symbols.Find(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
  symbols.Find(driver.cuModuleLoadData, "cuModuleLoadData");
  symbols.Find(driver.cuModuleUnload, "cuModuleUnload");
  symbols.Find(driver.cuModuleGetFunction, "cuModuleGetFunction");
  symbols.Find(driver.cuMemAlloc, "cuMemAlloc_v2");
  symbols.Find(driver.cuMemFree, "cuMemFree_v2");
  symbols.Find(driver.cuMemcpyHtoD, "cuMemcpyHtoD_v2");
  symbols.Find(driver.cuMemcpyDtoH, "cuMemcpyDtoH_v2");
  symbols.Find(driver.cuMemcpyDtoD, "cuMemcpyDtoD_v2");
  symbols.Find(driver.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  symbols.Find(driver.cuStreamCreate, "cuStreamCreate");
  symbols.Find(driver.cuStreamDestroy, "cuStreamDestroy_v2");
  symbols.Find(driver.cuStreamQuery, "cuStreamQuery");
  symbols.Find(driver.cuMemsetD8, "cuMemsetD8_v2");
  symbols.Find(driver.cuLaunchKernel, "cuLaunchKernel");
  symbols.Find(driver.cuGetErrorString, "cuGetErrorString");
  if (symbols.missing().empty()) return driver;
  dlclose(handle);
  return NoDriver(std::string(library) + " lacks " + symbols.missing());
}

}  // namespace pullback::jit::cuda
