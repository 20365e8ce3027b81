// Parts of a kernel's body that its forms share; see emit_kernel.cc. For the files that write kernels only.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "jit/llvm/offload.h"

namespace pullback::jit {

// The first arguments of a body: where in the grid it is.
enum Place : unsigned { kBlockIdx, kThreadIdx, kBlockDim, kGridDim, kShared, kBarrier };
inline constexpr unsigned kPlace = 6;

// What a kernel does otherwise than a loop on the host.
class KernelHook : public NodeHook {
 public:
  KernelHook(const loops::OffloadKernel& kernel, const loops::OffloadNest& nest)
      : kernel_(kernel), nest_(nest) {}
  bool Emit(FunctionEmitter& e, const loops::Node& node) override;

  llvm::DenseMap<const loops::Node*, llvm::Value*> indices;  // of loops that are threads
  bool stores = true;            // whether the arrays that it keeps are stored into
  llvm::Value* valid = nullptr;  // where they are; nullptr: always
  // The value of a load that is not made here; nullptr: it is.
  std::function<llvm::Value*(const loops::Node& load)> on_load;
  // A term for an ordered target, and the element or lane that it is for; none: terms are dropped.
  std::function<void(loops::Reg into, llvm::Value* element, loops::Reg term)> on_term;

 private:
  bool EmitLoad(FunctionEmitter& e, const loops::Node& node);
  bool EmitStore(FunctionEmitter& e, const loops::Node& node);
  bool EmitLaneAdd(FunctionEmitter& e, const loops::Node& node);

  const loops::OffloadKernel& kernel_;
  const loops::OffloadNest& nest_;
};

// A body while it is written.
struct KernelSite {
  FunctionEmitter& e;
  KernelHook& hook;
  const loops::OffloadNest& nest;
  const loops::OffloadKernel& kernel;
  llvm::Value* thread;                 // in the grid
  llvm::Value* threads;                // of the grid
  llvm::ArrayRef<llvm::Value*> place;  // by Place
  std::vector<llvm::Value*> lanes;     // addresses; by ordered target, nullptr for arrays
  std::array<llvm::Value*, kOrderedParams> ordered;

  llvm::Value* Of(OrderedParam p) const { return ordered[static_cast<size_t>(p)]; }
};

// The iterations of the parallel loops, by loop and in all.
std::vector<llvm::Value*> TripsOfParallel(KernelSite& site);
// Whoever is number `first` of `all` takes turns when there is more to do than they are: body(k) for
// k = first, first + all, … below total, and `poll` between two of them.
void TakeTurns(FunctionEmitter& e, llvm::Value* first, llvm::Value* all, llvm::Value* total,
               llvm::function_ref<void(llvm::Value* k)> body, llvm::function_ref<void()> poll);
// Runs the nest for one of them, numbered in row-major order.
void EmitPoint(KernelSite& site, llvm::Value* point, llvm::ArrayRef<llvm::Value*> trips);
// Writes `body` where the condition holds.
void Where(FunctionEmitter& e, llvm::Value* condition, llvm::function_ref<void()> body);

void EmitNvptxKernel(ModuleEmitter& m, llvm::Function* body, const DeviceKernel& about);
// By the number of the kernel (device_code.h).
void EmitHostEntry(ModuleEmitter& m, llvm::ArrayRef<llvm::Function*> bodies,
                   const std::string& symbol);

// One thread of a block that makes a tile together.
void EmitTiles(KernelSite& site);
// Room that a block of it needs.
uint32_t SharedBytes(const loops::OffloadKernel& kernel);

// The four kernels of terms that are joined in order (device_code.h).
void EmitOrderedStep(KernelSite& site, Offload::Step step);

}  // namespace pullback::jit
