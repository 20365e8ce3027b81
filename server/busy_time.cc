#include "server/busy_time.h"

#include <ctime>

#include "core/base/status.h"

namespace pullback::server {

std::chrono::nanoseconds BusyTime::OfThread() {
  timespec time;
  PB_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace pullback::server
