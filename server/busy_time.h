// How long a thread has been busy. Wall clocks count what other threads were given in between, and on a busy machine
// that is most of it; the thread's own clock does not, but takes half a microsecond to read.
#pragma once

#include <chrono>

namespace pullback::server {

// Since this was made, on the thread that made it.
class BusyTime {
 public:
  BusyTime() : before_(OfThread()) {}
  std::chrono::nanoseconds busy() const { return OfThread() - before_; }

 private:
  static std::chrono::nanoseconds OfThread();

  const std::chrono::nanoseconds before_;
};

}  // namespace pullback::server
