#include "jit/promoter.h"

#include <utility>

#include "core/base/work.h"
#include "jit/interrupt.h"

namespace pullback::jit {

Promoter::~Promoter() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Promoter::Add(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void Promoter::Drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
}

void Promoter::RunTasks() {
  const Work work([this] { return over_ ? Cancelled() : Status(); });
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return over_ || !tasks_.empty(); });
    if (over_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    task();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace pullback::jit
