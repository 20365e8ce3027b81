// Whether a kernel's next run will be short, judged by those before it. Short runs earn it credit; what a thread spent in
// others that were expected to be short is paid with it, so that holding a thread costs about as much time in short runs
// before; and what interrupts make long now and then, for no fault of its own, does not end its trust. Thread-safe;
// counts that race are lost, which costs a run in the wrong place.
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
  static constexpr int64_t kCostOfUnproven = 8;  // for each kShort of its time
  static constexpr int64_t kCostOfLong = 64;
  static constexpr int64_t kCostOfMistake = 1024;
  static constexpr int64_t kMostCredit = 16 * kCostOfMistake;  // and debt

  // Whether it has earned trust, and no run for a request of as many bytes has been long since the last that was short.
  bool ExpectsShort(size_t bytes) const;
  // Runs for requests of so many bytes, of kShort at most or not.
  void CountShort(size_t bytes);
  void CountLong(size_t bytes);
  // One that was expected to be short, and was not by a clock that counts other threads' time too.
  void CountUnproven(std::chrono::nanoseconds time);
  // One that was expected to be short, and had to be stopped.
  void CountMistake();
  // It was none: the run is short when it is not put off.
  void TakeMistakeBack();

 private:
  // Down to `least` credit.
  void Charge(int64_t cost, int64_t least);

  std::atomic<int64_t> credit_{0};
  std::atomic<uint64_t> short_below_{0};  // requests of fewer bytes
};

// Of a kernel's runs, as far as those who run it count them; lives as long as the handle.
RunHistory& HistoryOf(const Handle& handle);

}  // namespace pullback::jit
