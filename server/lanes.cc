#include "server/lanes.h"

#include <chrono>

namespace pullback::server {

bool Gate::Enter() {
  std::lock_guard lock(mutex_);
  if (closed_) return false;
  ++inside_;
  return true;
}

void Gate::Leave() {
  std::lock_guard lock(mutex_);
  if (--inside_ == 0 && closed_) empty_.notify_all();
}

void Gate::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
}

bool Gate::WaitEmpty(double seconds) {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, std::chrono::duration<double>(seconds),
                         [this] { return inside_ == 0; });
}

bool Gate::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace pullback::server
