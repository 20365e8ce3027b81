// Times the stages of one request, and notices between them that nobody waits for the answer.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "jit/interrupt.h"

namespace pullback::jit {

class Progress {
 public:
  explicit Progress(const RunLimits& limits) : limits_(limits), last_(Clock::now()) {}

  // The time since the last lap was `stage`. CANCELLED, DEADLINE_EXCEEDED.
  Status Lap(const char* stage) {
    const Clock::time_point now = Clock::now();
    timings_.push_back({stage, std::chrono::duration<double>(now - last_).count()});
    last_ = now;
    return CheckLive(limits_);
  }
  const RunLimits& limits() const { return limits_; }
  std::vector<Timing> Take() { return std::move(timings_); }

 private:
  using Clock = std::chrono::steady_clock;
  const RunLimits& limits_;
  Clock::time_point last_;
  std::vector<Timing> timings_;
};

}  // namespace pullback::jit
