// Requests to an engine in this process, timed round by round.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "jit/engine.h"

namespace pullback::bench {

template <typename T>
T Ok(StatusOr<T> made) {
  if (!made.ok()) throw std::runtime_error(made.status().ToString());
  return std::move(*made);
}

// One kernel and its inputs; the best of its runs.
class TimedCase {
 public:
  TimedCase(jit::Engine& engine, const jit::KernelRequest& request, jit::Inputs inputs)
      : engine_(engine), inputs_(std::move(inputs)), handle_(Ok(engine.Compile(request))) {
    limits_.memory_bytes = int64_t{1} << 34;
  }
  void Run() {
    last_ = Ok(engine_.Run(handle_, inputs_, limits_));
    best_ = std::min(best_, last_.execute_seconds);
  }
  double seconds() const { return best_; }
  const jit::Outputs& last() const { return last_; }

 private:
  jit::Engine& engine_;
  const jit::Inputs inputs_;
  const jit::Handle handle_;
  jit::RunLimits limits_;
  jit::Outputs last_;
  double best_ = 1e30;
};

}  // namespace pullback::bench
