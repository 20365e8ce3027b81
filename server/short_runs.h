// Which runs may be done on the thread of gRPC's that received them. To hand a run to a pool and its answer back costs
// more than most runs take; but what holds gRPC's threads keeps it from reading. So only what is expected to be short
// is run there, for a short while, and after a mistake nothing is for a longer one.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "server/pool.h"
#include "server/request.h"

namespace pullback::server {

struct RunCounts {
  int64_t grpc = 0;  // on the threads that received them
  int64_t pool = 0;
  int64_t overruns = 0;  // were stopped there, and begun again in the pool
};

class ShortRuns {
 public:
  // Of a run; deadlines are looked at every millisecond, and not inside of a product of matrices, which takes up to 6.
  static constexpr std::chrono::microseconds kAllowance{200};
  // After the pool has seen a mistake. Until it has, its threads are taken, and so nothing is tried either.
  static constexpr std::chrono::milliseconds kPause{2};
  static constexpr size_t kMostBytes = size_t{16} << 10;  // of a message: it is parsed there, too

  // Whether the message is worth a look: it is small, and a thread is free for whoever waits.
  static bool WorthTrying(const Pool& pool, size_t bytes) {
    return bytes <= kMostBytes && pool.has_room();
  }

  bool Paused(Clock::time_point now) const {
    return now.time_since_epoch().count() < resume_.load(std::memory_order_relaxed);
  }
  void CountOverrun() { overruns_.fetch_add(1, std::memory_order_relaxed); }
  void Pause(Clock::time_point now) {
    resume_.store((now + kPause).time_since_epoch().count(), std::memory_order_relaxed);
  }
  void CountHere() { grpc_.fetch_add(1, std::memory_order_relaxed); }
  void CountInPool() { pool_.fetch_add(1, std::memory_order_relaxed); }
  RunCounts counts() const { return {grpc_, pool_, overruns_}; }

 private:
  std::atomic<Clock::rep> resume_{0};
  std::atomic<int64_t> grpc_{0}, pool_{0}, overruns_{0};
};

}  // namespace pullback::server
