// Whether a kernel's next run will be short, judged by those before it. Short runs earn it credit, which others use up: of
// the runs that are expected to be short, about one in kCostOfMistake turns out a mistake, whatever a kernel does; and
// what interrupts make long now and then, for no fault of its own, does not end its trust. Thread-safe; counts that race
// are lost, which costs a run in the wrong place.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pullback::jit {

struct Handle;  // jit/engine.h

class RunHistory {
 public:
  static constexpr std::chrono::microseconds kShort{50};
  // In short runs.
  static constexpr int64_t kTrusted = 8;
  static constexpr int64_t kCostOfUnproven = 8;
  static constexpr int64_t kCostOfLong = 64;
  static constexpr int64_t kCostOfMistake = 1024;
  static constexpr int64_t kMostCredit = 16 * kCostOfMistake;  // and debt

  // Whether it has earned trust, and no run for a request of as many bytes has been long since the last that was short.
  bool ExpectsShort(size_t bytes) const;
  // A run for a request of so many bytes; was_short: of kShort at most.
  void Count(size_t bytes, bool was_short);
  // One that was expected to be short, and seemed long to a clock that counts other threads' time too.
  void CountUnproven() { Charge(kCostOfUnproven, 0); }
  // One that was expected to be short, and was not.
  void CountMistake();

 private:
  // Down to `least` credit.
  void Charge(int64_t cost, int64_t least);

  std::atomic<int64_t> credit_{0};
  std::atomic<uint64_t> short_below_{0};  // requests of fewer bytes
};

// Of a kernel's runs, as far as those who run it count them; lives as long as the handle.
RunHistory& HistoryOf(const Handle& handle);

}  // namespace pullback::jit
