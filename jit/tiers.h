// The code of a kernel as it gets better: tier 0 answers first, LLVM takes over when it is worth it.
//
// LLVM is worth it once tier 0 has run for as long as LLVM is expected to compile: then no order of
// requests makes the pair take more than twice what the better choice would have (the ski rental rule).
// A run in tier 0 that alone takes as long is given up and begun again in LLVM's code: runs have no effects.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "core/loops/loops.h"
#include "jit/backend.h"
#include "jit/engine.h"

namespace pullback::jit {

class TieredCode {
 public:
  struct Code {
    std::unique_ptr<LoadedCode> loaded;
    Tier tier;
  };
  // What LLVM is to compile later.
  struct Later {
    loops::Module loops;
    int opt_level;
  };

  // Without `later` it stays as it is.
  TieredCode(Tier tier, std::unique_ptr<LoadedCode> code, std::optional<Later> later);

  // What runs now. Whoever holds it may run it: code that was replaced goes with its last runner.
  std::shared_ptr<const Code> current() const { return current_.load(std::memory_order_acquire); }

  // How long tier 0 may run, in all or at once, before LLVM is worth it; nothing once that is settled.
  std::optional<std::chrono::nanoseconds> patience() const;
  // Adds a run in tier 0. True once: when patience is at its end.
  bool Count(double seconds);
  // Compiles by LLVM and swaps the code in, unless that has been tried; waits for another thread that does.
  // Both as long as the limits let it, whose end is the only error; then the next may try. LLVM's error leaves
  // tier 0 for good.
  struct Improvement {
    bool mine = false;  // by this call
    Status status;      // LLVM's, when it is
    ObjectCode object;  // that the code is of, when it is and that is well
  };
  StatusOr<Improvement> Improve(Backend& llvm, const RunLimits& limits);

  size_t bytes() const;  // of the code and of what is kept for later

 private:
  enum class State : uint8_t { kFirst, kImproving, kSettled };
  StatusOr<std::shared_ptr<const Code>> CompileLater(Backend& llvm, ObjectCode* object) const;
  void TryAgainLater();

  std::atomic<std::shared_ptr<const Code>> current_;
  std::atomic<State> state_;
  std::atomic<int64_t> spent_ns_{0};
  std::chrono::nanoseconds patience_{0};
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable settled_;
  std::optional<Later> later_;
  size_t later_bytes_ = 0;
};

// Says "baseline" or "llvm"; "auto".
const char* TierName(Tier tier);

}  // namespace pullback::jit
