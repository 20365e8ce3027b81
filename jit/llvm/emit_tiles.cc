// Contractions in tiles: a block of kTile * kTile threads, one for each element of a tile. kTile steps at a time
// the block brings what it reads into shared memory, and each thread takes its sum further from there, in the
// order that one thread alone would.
//
// Threads outside the space do what the last inside does, so that all come to the barriers, and store nothing.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "jit/llvm/kernel.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using llvm::Value;
using loops::kTile;

namespace {

constexpr uint64_t kTileElements = uint64_t{kTile} * kTile;
constexpr uint64_t kStepsBetweenPolls = 4096;
constexpr size_t kMostWrittenOut = 24;  // nodes of a step

class TileEmitter {
 public:
  explicit TileEmitter(KernelSite& site)
      : site_(site), tile_(site.kernel.tile), e_(site.e), m_(e_.m()), b_(e_.b()) {}

  void Emit() {
    Value* thread = site_.place[kThreadIdx];
    row_ = b_.CreateUDiv(thread, Number(kTile));
    column_ = b_.CreateURem(thread, Number(kTile));
    trips_ = TripsOfParallel(site_);
    const size_t count = trips_.size();
    for (size_t k = 0; k < count; ++k) {
      tiles_.push_back(k + 2 < count ? trips_[k]
                                     : b_.CreateUDiv(RoundedToTiles(b_, trips_[k]), Number(kTile)));
    }
    Value* total = Number(1);
    for (Value* tiles : tiles_) total = b_.CreateMul(total, tiles);
    TakeTurns(
        e_, site_.place[kBlockIdx], site_.place[kGridDim], total,
        [&](Value* tile) {
          SetPlace(tile);
          EmitPath(*site_.nest.root);
        },
        [&] { PollAt(Number(kTile)); });
  }

 private:
  Value* Number(uint64_t n) { return b_.getInt64(n); }
  Value* Least(Value* x, Value* y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y); }

  void SetPlace(Value* tile) {
    Value* valid = b_.getTrue();
    Value* rest = tile;
    const size_t count = trips_.size();
    for (size_t k = count; k-- > 0;) {
      Value* at = b_.CreateURem(rest, tiles_[k]);
      rest = b_.CreateUDiv(rest, tiles_[k]);
      if (k + 2 >= count) {
        at = b_.CreateAdd(b_.CreateMul(at, Number(kTile)), k + 1 == count ? column_ : row_);
        valid = b_.CreateAnd(valid, b_.CreateICmpULT(at, trips_[k]));
        at = Least(at, b_.CreateSub(trips_[k], Number(1)));
      }
      const loops::Node* loop = site_.kernel.parallel[k];
      site_.hook.indices[loop] = b_.CreateAdd(e_.Get(loop->args[0]), at);
    }
    site_.hook.valid = valid;
    // Also those of loops inside the step: what is staged may need them.
    for (const auto& [loop, index] : site_.hook.indices) e_.Set(loop->results[0], index);
  }

  void EmitPath(const loops::Node& node) {
    if (node.kind != Kind::kFor) return e_.EmitNode(node);
    if (&node == tile_.step) return EmitStep(node);
    for (const loops::Node& n : node.body) EmitPath(n);
  }

  // The two loops of the step, and the rest, which is less than a tile.
  void EmitStep(const loops::Node& step) {
    Value* lo = e_.Get(step.args[0]);
    Value* trips = TripsOf(e_, step);
    Value* whole = b_.CreateAnd(trips, Number(~uint64_t{kTile - 1}));
    Value* some = b_.CreateICmpNE(whole, Number(0));
    Where(e_, some, [&] {
      e_.CountedLoop(lo, b_.CreateAdd(lo, whole), kTile, 0, [&](Value* first) {
        PollAt(b_.CreateSub(first, lo));
        Stage(step, first, Number(kTile));
        EmitSteps(step, first, Number(kTile), /*whole=*/true);
      });
    });
    Value* left = b_.CreateSub(trips, whole);
    Where(e_, b_.CreateICmpNE(left, Number(0)), [&] {
      Value* first = b_.CreateAdd(lo, whole);
      Stage(step, first, left);
      EmitSteps(step, first, left, /*whole=*/false);
    });
  }

  // Every thread brings one element of each: row by step, or step by column.
  void Stage(const loops::Node& step, Value* first, Value* count) {
    Barrier();  // until nobody reads what was there
    Value* last = b_.CreateSub(count, Number(1));
    for (size_t k = 0; k < tile_.staged.size(); ++k) {
      const loops::StagedLoad& staged = tile_.staged[k];
      Value* ahead = Least(staged.rows ? column_ : row_, last);
      e_.Set(step.results[0], b_.CreateAdd(first, ahead));
      for (const loops::Node* n : staged.offset) e_.EmitPlainNode(*n);
      const loops::Node& load = *staged.load;
      const DType t = e_.Elem(load.args[0]);
      Value* v = e_.LoadElement(load.args[0], e_.Get(load.args[1]));
      b_.CreateStore(e_.ToMemory(t, v), SharedAt(k, t, site_.place[kThreadIdx]));
    }
    Barrier();  // until all is there
  }

  Value* SharedAt(size_t staged, DType t, Value* element) {
    Value* base =
        b_.CreatePtrAdd(site_.place[kShared], Number(staged * kTileElements * sizeof(uint64_t)));
    return b_.CreateGEP(m_.DataType(t), base, element);
  }

  void EmitSteps(const loops::Node& step, Value* first, Value* count, bool whole) {
    const auto emit = [&](Value* at) {
      e_.Set(step.results[0], b_.CreateAdd(first, at));
      site_.hook.on_load = [this, at](const loops::Node& load) { return Staged(load, at); };
      for (const loops::Node& n : step.body) EmitPath(n);
      site_.hook.on_load = nullptr;
    };
    size_t nodes = 0;
    loops::ForEachNode(step.body, [&](const loops::Node&) { ++nodes; });
    if (whole && nodes <= kMostWrittenOut) {
      for (uint64_t k = 0; k < kTile; ++k) emit(Number(k));
    } else {
      e_.CountedLoop(Number(0), count, 1, 0, emit);
    }
  }

  Value* Staged(const loops::Node& load, Value* at) {
    for (size_t k = 0; k < tile_.staged.size(); ++k) {
      const loops::StagedLoad& staged = tile_.staged[k];
      if (staged.load != &load) continue;
      Value* element = staged.rows ? b_.CreateAdd(b_.CreateMul(row_, Number(kTile)), at)
                                   : b_.CreateAdd(b_.CreateMul(at, Number(kTile)), column_);
      const DType t = e_.Elem(load.args[0]);
      return e_.FromMemory(t, b_.CreateLoad(m_.DataType(t), SharedAt(k, t, element)));
    }
    return nullptr;
  }

  // All threads of a block leave together: one looks, at a barrier the others hear of it.
  void PollAt(Value* steps_done) {
    Value* phase = b_.CreateAnd(steps_done, Number(kStepsBetweenPolls - 1));
    Value* due = b_.CreateICmpEQ(phase, Number(kTile));
    Where(e_, due, [&] {
      llvm::AllocaInst* seen = e_.Alloca(m_.i32, "seen");
      b_.CreateStore(b_.getInt32(0), seen);
      Where(e_, b_.CreateICmpEQ(site_.place[kThreadIdx], Number(0)),
            [&] { b_.CreateStore(e_.LoadStop(), seen); });
      e_.StopIf(b_.CreateIsNotNull(BarrierWithAny(b_.CreateLoad(m_.i32, seen))));
    });
  }

  void Barrier() {
    if (m_.for_host) {
      BarrierWithAny(b_.getInt32(0));
    } else {
      b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
    }
  }
  Value* BarrierWithAny(Value* value) {
    if (!m_.for_host) return b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0_or, {}, {value});
    auto* type = llvm::FunctionType::get(m_.i32, {m_.i32}, false);
    return b_.CreateCall(type, site_.place[kBarrier], {value});
  }

  KernelSite& site_;
  const loops::TilePlan& tile_;
  FunctionEmitter& e_;
  ModuleEmitter& m_;
  llvm::IRBuilder<>& b_;
  Value* row_ = nullptr;  // of the thread in its tile
  Value* column_ = nullptr;
  std::vector<Value*> trips_,
      tiles_;  // by parallel loop; tiles: of the outer ones their iterations
};

}  // namespace

void EmitTiles(KernelSite& site) { TileEmitter(site).Emit(); }

uint32_t SharedBytes(const loops::OffloadKernel& kernel) {
  return static_cast<uint32_t>(kernel.tile.staged.size() * kTileElements * sizeof(uint64_t));
}

}  // namespace pullback::jit
