// What the host does in place of a nest: it launches its kernels; where one says that a check failed, it runs
// the nest itself, which ends in the right trap. Elsewhere it fetches what it reads.
#include <algorithm>

#include "core/loops/walk.h"
#include "jit/llvm/offload.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using llvm::Value;

namespace {

class LaunchHook : public NodeHook {
 public:
  LaunchHook(std::shared_ptr<const Offload> offload, uint32_t function)
      : offload_(std::move(offload)), plan_(offload_->plans[function]) {}

  bool Emit(FunctionEmitter& e, const loops::Node& node) override {
    if (quiet_) return false;
    switch (node.kind) {
      case Kind::kFor: return EmitFor(e, node);
      case Kind::kLoad: Fetch(e, node.args[0], false); return false;
      case Kind::kStore: Fetch(e, node.args[0], true); return false;
      case Kind::kAlloc: EmitAlloc(e, node); return true;
      default: return false;
    }
  }

 private:
  bool EmitFor(FunctionEmitter& e, const loops::Node& node) {
    if (const auto nest = plan_.nests.find(&node); nest != plan_.nests.end()) {
      EmitLaunches(e, nest->second);
      return true;
    }
    if (!StaysHere(e, node)) return false;
    EmitHere(e, node);
    return true;
  }

  static void Fetch(FunctionEmitter& e, loops::Reg array, bool write) {
    const auto callee = e.m().Callee(write ? Runtime::kDeviceWrite : Runtime::kDeviceRead);
    e.b().CreateCall(callee, {e.ctx(), e.Get(array)});
  }

  // Elements are cleared where they are first used.
  static void EmitAlloc(FunctionEmitter& e, const loops::Node& node) {
    loops::Node plain = node;
    plain.bits = 0;
    e.EmitPlainNode(plain);
    e.b().CreateCall(e.m().Callee(Runtime::kDeviceFresh),
                     {e.ctx(), e.Get(node.results[0]), e.b().getInt32(node.bits == 1 ? 1 : 0)});
  }

  // Whether nothing inside the loop can move an array to the device, so that all may be fetched before it.
  static bool StaysHere(const FunctionEmitter& e, const loops::Node& loop) {
    bool stays = true;
    loops::ForEachNode(loop.body, [&](const loops::Node& n) {
      const bool moves =
          n.kind == Kind::kUnique || n.kind == Kind::kList || n.kind == Kind::kPop ||
          n.kind == Kind::kContract ||
          (n.kind == Kind::kCall && !loops::IsDeviceFunction(e.source_module(), n.callee));
      stays = stays && !moves;
    });
    return stays;
  }

  void EmitHere(FunctionEmitter& e, const loops::Node& loop) {
    std::vector<loops::Reg> read, written, made;
    loops::ForEachNode(loop.body, [&](const loops::Node& n) {
      if (n.kind == Kind::kAlloc) made.push_back(n.results[0]);
      if (n.kind == Kind::kLoad) read.push_back(n.args[0]);
      if (n.kind == Kind::kStore) written.push_back(n.args[0]);
    });
    const auto fetch = [&](std::vector<loops::Reg>& list, bool write) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      for (const loops::Reg array : list) {
        if (std::find(made.begin(), made.end(), array) == made.end()) Fetch(e, array, write);
      }
    };
    fetch(written, true);
    fetch(read, false);
    quiet_ = true;
    e.EmitPlainNode(loop);
    quiet_ = false;
  }

  void EmitLaunches(FunctionEmitter& e, const loops::OffloadNest& nest) {
    llvm::IRBuilder<>& b = e.b();
    llvm::BasicBlock* failed = e.NewBlock("failed");
    llvm::BasicBlock* done = e.NewBlock("launched");
    for (const loops::OffloadKernel& kernel : nest.kernels) {
      Value* result = Launch(e, nest, kernel);
      llvm::BasicBlock* next = e.NewBlock("next");
      e.Branch(b.CreateIsNotNull(result), failed, next);
      b.SetInsertPoint(next);
    }
    b.CreateBr(done);
    b.SetInsertPoint(failed);
    EmitHere(e, *nest.root);
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  // Threads, or points to be cut into segments.
  static Value* Threads(FunctionEmitter& e, const loops::OffloadKernel& kernel) {
    llvm::IRBuilder<>& b = e.b();
    Value* threads = b.getInt64(1);
    const size_t count = kernel.parallel.size();
    const bool tiles = kernel.form == loops::OffloadKernel::Form::kTiles;
    for (size_t k = 0; k < count; ++k) {
      Value* trips = TripsOf(e, *kernel.parallel[k]);
      threads = b.CreateMul(threads, tiles && k + 2 >= count ? RoundedToTiles(b, trips) : trips);
    }
    return threads;
  }

  Value* Launch(FunctionEmitter& e, const loops::OffloadNest& nest,
                const loops::OffloadKernel& kernel) {
    llvm::IRBuilder<>& b = e.b();
    llvm::SmallVector<Value*, 16> values;
    for (const loops::Reg r : nest.scalars)
      values.push_back(ToSlot(b, e.m(), e.TypeOf(r), e.Get(r)));
    for (const auto& extent : nest.extents) values.push_back(e.Dim(extent.array, extent.axis));
    for (const loops::Reg r : nest.arrays) values.push_back(b.CreatePtrToInt(e.Get(r), e.m().i64));
    std::vector<std::pair<loops::Reg, llvm::AllocaInst*>> lanes;
    for (const loops::OrderedTarget& target : kernel.ordered) {
      const loops::Reg r = target.into;
      if (!target.lanes) continue;
      lanes.emplace_back(r, e.Alloca(llvm::ArrayType::get(e.m().i64, kLanes), "lanes"));
      ForLanes(e, lanes.back().second, [&](uint64_t k, Value* slot) {
        b.CreateStore(ToSlot(b, e.m(), e.TypeOf(r), e.LoadLane(r, k)), slot);
      });
      values.push_back(b.CreatePtrToInt(lanes.back().second, e.m().i64));
    }
    auto* slots =
        e.Alloca(llvm::ArrayType::get(e.m().i64, std::max<size_t>(values.size(), 1)), "slots");
    for (size_t i = 0; i < values.size(); ++i) {
      b.CreateStore(values[i], b.CreateConstGEP1_64(e.m().i64, slots, i));
    }
    Value* result =
        b.CreateCall(e.m().Callee(Runtime::kLaunch),
                     {e.ctx(), b.getInt32(offload_->NumberOf(&kernel)), Threads(e, kernel), slots});
    for (const auto& [reg, slots_of_lanes] : lanes) {
      const loops::Reg r = reg;
      ForLanes(e, slots_of_lanes, [&](uint64_t k, Value* slot) {
        e.StoreLane(r, k, FromSlot(b, e.m(), e.TypeOf(r), b.CreateLoad(e.m().i64, slot)));
      });
    }
    return result;
  }

  static void ForLanes(FunctionEmitter& e, llvm::AllocaInst* lanes,
                       llvm::function_ref<void(uint64_t, Value*)> fn) {
    for (uint64_t k = 0; k < kLanes; ++k) fn(k, e.b().CreateConstGEP1_64(e.m().i64, lanes, k));
  }

  const std::shared_ptr<const Offload> offload_;
  const loops::OffloadPlan& plan_;
  bool quiet_ = false;  // in a loop whose arrays were fetched before it
};

}  // namespace

Value* TripsOf(FunctionEmitter& e, const loops::Node& loop) {
  llvm::IRBuilder<>& b = e.b();
  Value* lo = e.Get(loop.args[0]);
  Value* hi = e.Get(loop.args[1]);
  return b.CreateSelect(b.CreateICmpSLT(lo, hi), b.CreateSub(hi, lo), b.getInt64(0));
}

Value* RoundedToTiles(llvm::IRBuilder<>& b, Value* trips) {
  constexpr uint64_t kLast = loops::kTile - 1;
  return b.CreateAnd(b.CreateAdd(trips, b.getInt64(kLast)), b.getInt64(~kLast));
}

void AddLaunches(ModuleEmitter& m, const std::shared_ptr<const Offload>& offload) {
  for (uint32_t f = 0; f < offload->plans.size(); ++f) {
    m.hooks.push_back(std::make_shared<LaunchHook>(offload, f));
  }
}

}  // namespace pullback::jit
