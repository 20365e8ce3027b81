#include "jit/run_history.h"

#include <algorithm>

#include "jit/kernel.h"

namespace pullback::jit {

bool RunHistory::ExpectsShort(size_t bytes) const {
  return streak_.load(std::memory_order_relaxed) >= needed_.load(std::memory_order_relaxed) &&
         bytes <= most_bytes_.load(std::memory_order_relaxed);
}

void RunHistory::Count(size_t bytes, double seconds) {
  if (seconds > kShortSeconds) return StartOver();
  if (bytes > most_bytes_.load(std::memory_order_relaxed)) {
    most_bytes_.store(bytes, std::memory_order_relaxed);
  }
  const uint32_t needed = needed_.load(std::memory_order_relaxed);
  const uint32_t streak = streak_.load(std::memory_order_relaxed);
  if (streak >= kForgive * needed) {
    if (needed == kFirst) return;  // nothing more to gain
    needed_.store(std::max(kFirst, needed / 2), std::memory_order_relaxed);
    streak_.store(needed, std::memory_order_relaxed);
    return;
  }
  streak_.store(streak + 1, std::memory_order_relaxed);
}

void RunHistory::CountMistake() {
  const uint32_t needed = needed_.load(std::memory_order_relaxed);
  needed_.store(std::min(kMost, needed * 4), std::memory_order_relaxed);
  StartOver();
}

void RunHistory::StartOver() {
  streak_.store(0, std::memory_order_relaxed);
  most_bytes_.store(0, std::memory_order_relaxed);
}

RunHistory& HistoryOf(const Handle& handle) { return handle.kernel->history(); }

}  // namespace pullback::jit
