#include "tests/support/fake_blocks.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace pullback::testing {
namespace {

// The threads of a block take turns at its barriers, each on a stack of its own.
class FibreBlock {
 public:
  static constexpr size_t kStack = 256 << 10;

  static int32_t Barrier(int32_t value) {
    FibreBlock& block = *running;
    block.any_ |= value;
    const size_t k = block.current_;
    swapcontext(&block.fibres_[k].context, &block.scheduler_);
    return block.result_;
  }

  // thread(k) for each thread of the block; `backwards`: the last first, between any two barriers.
  void Run(size_t threads, bool backwards, const std::function<void(size_t)>& thread) {
    running = this;
    thread_ = &thread;
    while (fibres_.size() < threads) fibres_.emplace_back();
    for (size_t k = 0; k < threads; ++k) Begin(k);
    for (size_t left = threads; left > 0;) {
      any_ = 0;
      size_t ended = 0;
      for (size_t i = 0; i < threads; ++i) {
        current_ = backwards ? threads - 1 - i : i;
        swapcontext(&scheduler_, &fibres_[current_].context);
        ended += fibres_[current_].ended ? 1 : 0;
      }
      // All of them come to a barrier, or none.
      if (ended != 0 && ended != threads) std::abort();
      left -= ended;
      result_ = any_;
    }
  }

 private:
  struct Fibre {
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStack);
    bool ended = false;
  };

  void Begin(size_t k) {
    Fibre& fibre = fibres_[k];
    fibre.ended = false;
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get();
    fibre.context.uc_stack.ss_size = kStack;
    fibre.context.uc_link = &scheduler_;
    makecontext(&fibre.context, &FibreBlock::Enter, 0);
  }
  static void Enter() {
    FibreBlock& block = *running;
    const size_t k = block.current_;
    (*block.thread_)(k);
    block.fibres_[k].ended = true;
  }

  static FibreBlock* running;
  std::deque<Fibre> fibres_;
  ucontext_t scheduler_{};
  const std::function<void(size_t)>* thread_ = nullptr;
  size_t current_ = 0;
  int32_t any_ = 0, result_ = 0;
};
FibreBlock* FibreBlock::running = nullptr;

}  // namespace

// The shared memory of a block holds nothing when it begins.
void RunBlocks(const HostKernel& kernel, const Geometry& geometry, bool backwards, void** params) {
  static FibreBlock fibres;
  const uint64_t threads = geometry.block, grid = geometry.grid;
  const size_t shared_bytes = geometry.shared_bytes;
  std::vector<uint64_t> shared(shared_bytes / sizeof(uint64_t) + 1);
  for (uint64_t i = 0; i < grid; ++i) {
    const uint64_t b = backwards ? grid - 1 - i : i;
    std::fill(shared.begin(), shared.end(), 0xCBCBCBCBCBCBCBCB);
    const auto run = [&](uint64_t t) {
      const uint64_t args[] = {kernel.number,
                               b,
                               t,
                               threads,
                               grid,
                               reinterpret_cast<uint64_t>(shared.data()),
                               reinterpret_cast<uint64_t>(&FibreBlock::Barrier),
                               reinterpret_cast<uint64_t>(params)};
      kernel.entry(nullptr, args, nullptr);
    };
    if (shared_bytes > 0) {
      fibres.Run(threads, backwards, run);
      continue;
    }
    for (uint64_t t = 0; t < threads; ++t) run(backwards ? threads - 1 - t : t);
  }
}

}  // namespace pullback::testing
