// A line that tells on a terminal how far a load is. Nothing where standard error is none.
#pragma once

#include <atomic>
#include <thread>

#include "client/load/load.h"

namespace pullback::cli {

class LoadProgress {
 public:
  // seconds: how long all of it will take.
  explicit LoadProgress(double seconds);
  ~LoadProgress();
  LoadProgress(const LoadProgress&) = delete;
  LoadProgress& operator=(const LoadProgress&) = delete;

  load::Progress* counts() { return &counts_; }

 private:
  void Draw();

  const double seconds_;
  load::Progress counts_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace pullback::cli
