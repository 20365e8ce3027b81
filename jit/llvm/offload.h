// Code of a module that runs in part on a device: the host's functions, which launch kernels in place of the
// nests that core/loops/offload.h plans, and the module of the kernels.
#pragma once

#include <memory>
#include <vector>

#include "core/loops/offload.h"
#include "jit/device_code.h"
#include "jit/llvm/emit.h"

namespace pullback::jit {

// The plans of all functions that run on the host, and the numbers of their kernels.
struct Offload {
  explicit Offload(const loops::Module& module);
  std::vector<loops::OffloadPlan> plans;                              // by function
  enum class Step : uint8_t { kOnly, kCount, kPlace, kMake, kJoin };  // device_code.h
  struct Kernel {
    uint32_t function;
    const loops::OffloadNest* nest;
    const loops::OffloadKernel* kernel;
    Step step;
  };
  std::vector<Kernel> kernels;
  // Of the first step.
  uint32_t NumberOf(const loops::OffloadKernel* kernel) const;
  std::vector<DeviceKernel> Describe(const loops::Module& module) const;
};

// Iterations of a loop whose bounds are known.
llvm::Value* TripsOf(FunctionEmitter& e, const loops::Node& loop);
// Up to a multiple of loops::kTile.
llvm::Value* RoundedToTiles(llvm::IRBuilder<>& b, llvm::Value* trips);

// Gives `m` hooks that write launches.
void AddLaunches(ModuleEmitter& m, const std::shared_ptr<const Offload>& offload);

// Writes all kernels: for NVPTX, or (`host`) as one entry that runs one thread (device_code.h).
void EmitKernels(ModuleEmitter& m, const Offload& offload, bool host, const std::string& entry);

}  // namespace pullback::jit
