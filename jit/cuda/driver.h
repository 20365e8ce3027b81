// The driver API of CUDA, as far as we use it: declared here, found at run time. Nothing of CUDA is needed to
// build Pullback or to start it. A table is also what tests put in its place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/status.h"

namespace pullback::jit::cuda {

using Result = int;  // CUresult
inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotReady = 600;
inline constexpr unsigned kNonBlocking = 1;  // of a stream: beside the default one
using DeviceNumber = int;                    // CUdevice
using DeviceAddress = uint64_t;              // CUdeviceptr
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
inline constexpr int kComputeCapabilityMajor = 75;  // CUdevice_attribute
inline constexpr int kComputeCapabilityMinor = 76;

// Members are named as the functions are, without the versions of their symbols.
struct Driver {
  Result (*cuInit)(unsigned flags);
  Result (*cuDeviceGetCount)(int* count);
  Result (*cuDeviceGet)(DeviceNumber* device, int ordinal);
  Result (*cuDeviceGetName)(char* name, int size, DeviceNumber device);
  Result (*cuDeviceGetAttribute)(int* value, int attribute, DeviceNumber device);
  Result (*cuCtxCreate)(Context* context, unsigned flags, DeviceNumber device);
  Result (*cuCtxDestroy)(Context context);
  Result (*cuCtxSetCurrent)(Context context);
  Result (*cuModuleLoadData)(Module* module, const void* image);
  Result (*cuModuleUnload)(Module module);
  Result (*cuModuleGetFunction)(Function* function, Module module, const char* name);
  Result (*cuMemAlloc)(DeviceAddress* address, size_t bytes);
  Result (*cuMemFree)(DeviceAddress address);
  Result (*cuMemcpyHtoD)(DeviceAddress to, const void* from, size_t bytes);
  Result (*cuMemcpyDtoH)(void* to, DeviceAddress from, size_t bytes);
  Result (*cuMemcpyDtoD)(DeviceAddress to, DeviceAddress from, size_t bytes);
  Result (*cuMemcpyHtoDAsync)(DeviceAddress to, const void* from, size_t bytes, Stream stream);
  Result (*cuStreamCreate)(Stream* stream, unsigned flags);
  Result (*cuStreamDestroy)(Stream stream);
  Result (*cuStreamQuery)(Stream stream);
  Result (*cuMemsetD8)(DeviceAddress to, unsigned char value, size_t bytes);
  Result (*cuLaunchKernel)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned shared_bytes, Stream stream, void** params, void** extra);
  Result (*cuGetErrorString)(Result error, const char** text);
};

// From libcuda.so.1. FAILED_PRECONDITION, NO_DEVICE, where there is none, or it lacks a function. The table
// stays good for as long as the process lives.
StatusOr<Driver> LoadDriver(const char* library = "libcuda.so.1");

}  // namespace pullback::jit::cuda
