#include "jit/run_history.h"

#include <algorithm>

#include "jit/kernel.h"

namespace pullback::jit {

bool RunHistory::ExpectsShort(size_t bytes) const {
  return credit_.load(std::memory_order_relaxed) >= kTrusted &&
         bytes < short_below_.load(std::memory_order_relaxed);
}

void RunHistory::CountShort(size_t bytes) {
  if (bytes >= short_below_.load(std::memory_order_relaxed)) {
    short_below_.store(bytes + 1, std::memory_order_relaxed);
  }
  const int64_t credit = credit_.load(std::memory_order_relaxed);
  if (credit < kMostCredit) credit_.store(credit + 1, std::memory_order_relaxed);
}

void RunHistory::CountLong(size_t bytes) {
  if (bytes < short_below_.load(std::memory_order_relaxed)) {
    short_below_.store(bytes, std::memory_order_relaxed);
  }
  Charge(kCostOfLong, 0);
}

void RunHistory::CountUnproven(std::chrono::nanoseconds time) {
  constexpr std::chrono::nanoseconds kUnit = kShort;
  Charge(kCostOfUnproven * ((time + kUnit - std::chrono::nanoseconds(1)) / kUnit), -kMostCredit);
}

void RunHistory::CountMistake() {
  short_below_.store(0, std::memory_order_relaxed);
  Charge(kCostOfMistake, -kMostCredit);
}

void RunHistory::TakeMistakeBack() { credit_.fetch_add(kCostOfMistake, std::memory_order_relaxed); }

void RunHistory::Charge(int64_t cost, int64_t least) {
  const int64_t credit = credit_.load(std::memory_order_relaxed);
  credit_.store(std::min(credit, std::max(least, credit - cost)), std::memory_order_relaxed);
}

RunHistory& HistoryOf(const Handle& handle) { return handle.kernel->history(); }

}  // namespace pullback::jit
