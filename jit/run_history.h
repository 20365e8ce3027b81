// Whether a kernel's next run will be short, judged by those before it. Who counts on it is wrong now and then, and says
// so: each time it then takes four times as many short runs before the kernel is trusted again, and many more until
// that is forgiven. Thread-safe; counts that race are lost, which costs a run in the wrong place at most.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pullback::jit {

struct Handle;  // jit/engine.h

class RunHistory {
 public:
  static constexpr double kShortSeconds = 25e-6;
  static constexpr uint32_t kFirst = 8;        // short runs in a row before the first trust
  static constexpr uint32_t kMost = 1U << 16;  // and after many mistakes
  static constexpr uint32_t kForgive = 16;     // times as many short runs halve them

  // Whether the last runs were short, one of them for a request of as many bytes at least.
  bool ExpectsShort(size_t bytes) const;
  // A run that took so long, for a request of so many bytes.
  void Count(size_t bytes, double seconds);
  // A run that was expected to be short and was not.
  void CountMistake();

 private:
  void StartOver();

  std::atomic<uint32_t> streak_{0};       // short runs since the last that was not
  std::atomic<uint64_t> most_bytes_{0};   // of a request among them
  std::atomic<uint32_t> needed_{kFirst};  // for trust
};

// Of a kernel's runs, as far as those who run it count them; lives as long as the handle.
RunHistory& HistoryOf(const Handle& handle);

}  // namespace pullback::jit
