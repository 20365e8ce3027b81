// Where work runs, how much of it there is, and what is counted of it. Requests that name a resident kernel never wait behind
// compiling: they have threads of their own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "server/metrics.h"
#include "server/options.h"
#include "server/pool.h"

namespace pullback::server {

// Counts calls from their arrival to the last byte of their answer, and refuses new ones when draining.
class Gate {
 public:
  // False when closed: the call is to be refused, and not to Leave.
  bool Enter();
  void Leave();
  void Close();
  // Whether all who entered have left, at most after `seconds`.
  bool WaitEmpty(double seconds);
  bool closed() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  int64_t inside_ = 0;
  bool closed_ = false;
};

struct Lanes {
  explicit Lanes(const ServerOptions& options)
      : run("pb-run", options.threads, options.queue, options.queue_bytes),
        compile("pb-compile", options.compile_threads, options.queue, options.queue_bytes) {}

  Gate gate;
  Metrics metrics;
  Pool run;      // parses, finds kernels, runs them
  Pool compile;  // compiles, and then runs
};

}  // namespace pullback::server
