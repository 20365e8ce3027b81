// Stops runs whose deadline has passed or whose request was cancelled.
//
// One thread looks, every millisecond while there are runs, at the watch of every thread that runs
// kernels, and sets RunContext::stop; generated code polls that. A run costs its thread two
// uncontended locks. After a while without runs the watchdog sleeps, and the next run wakes it.
// A watch's mutex is held whenever the watchdog touches a context, so that once Disarm has returned the
// context is the thread's own again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "jit/runtime/context.h"

namespace pullback::jit {

// RunContext::stop.
inline constexpr int32_t kStopDeadline = 1;
inline constexpr int32_t kStopCancelled = 2;

// Of one thread: the run that it is in, if any.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Until Disarm, context->stop is set when the deadline passes or *cancelled becomes true. cancelled
  // may be null.
  void Arm(RunContext* context, std::optional<Clock::time_point> deadline,
           const std::atomic<bool>* cancelled);
  void Disarm();

 private:
  friend class Watchdog;

  std::mutex mutex_;
  RunContext* context_ = nullptr;  // of the run; guarded by mutex_, like what follows
  Clock::time_point deadline_;
  const std::atomic<bool>* cancelled_ = nullptr;
  int64_t runs_ = 0;  // armed so far

  int64_t seen_ = 0;  // the watchdog's: runs_ when it last looked
};

}  // namespace pullback::jit
