#include "jit/watchdog.h"

#include <pthread.h>
#include <csignal>

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <vector>

namespace pullback::jit {

class Watchdog {
 public:
  // Lives as long as the process: threads may run kernels until its very end.
  static Watchdog& Get() {
    static Watchdog* const watchdog = new Watchdog;
    return *watchdog;
  }

  void Add(Watch* watch) {
    const std::lock_guard lock(watches_mutex_);
    watches_.push_back(watch);
  }
  void Remove(Watch* watch) {
    const std::lock_guard lock(watches_mutex_);
    watches_.erase(std::find(watches_.begin(), watches_.end(), watch));
  }
  void WakeIfAsleep() {
    if (asleep_.load()) Wake();
  }

 private:
  static constexpr std::chrono::milliseconds kTick{1};
  static constexpr int kIdleTicks = 200;  // before it sleeps

  Watchdog();
  [[noreturn]] void Loop();
  void Sleep();
  void Wake();
  // Whether there was a run since the last look.
  bool LookAtAll();
  static bool Look(Watch& watch, Watch::Clock::time_point now);

  std::mutex watches_mutex_;
  std::vector<Watch*> watches_;
  std::atomic<bool> asleep_{false};
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
};

// The process's signals are for its other threads.
Watchdog::Watchdog() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] { Loop(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Watchdog::Loop() {
  for (int idle = 0;;) {
    idle = LookAtAll() ? 0 : idle + 1;
    if (idle < kIdleTicks) {
      std::this_thread::sleep_for(kTick);
    } else {
      Sleep();
      idle = 0;
    }
  }
}

// asleep_ is set before the last look, and a run arms its watch before it reads asleep_: since both go
// through the watch's mutex, one of them sees the other.
void Watchdog::Sleep() {
  asleep_ = true;
  if (LookAtAll()) {
    asleep_ = false;
    return;
  }
  std::unique_lock lock(sleep_mutex_);
  wake_.wait(lock, [&] { return !asleep_; });
}

void Watchdog::Wake() {
  const std::lock_guard lock(sleep_mutex_);
  asleep_ = false;
  wake_.notify_one();
}

bool Watchdog::LookAtAll() {
  const Watch::Clock::time_point now = Watch::Clock::now();
  const std::lock_guard lock(watches_mutex_);
  bool active = false;
  for (Watch* watch : watches_) active |= Look(*watch, now);
  return active;
}

bool Watchdog::Look(Watch& watch, Watch::Clock::time_point now) {
  const std::lock_guard lock(watch.mutex_);
  const bool ran = watch.runs_ != watch.seen_;
  watch.seen_ = watch.runs_;
  if (watch.context_ == nullptr) return ran;
  if (watch.cancelled_ != nullptr && watch.cancelled_->load(std::memory_order_relaxed)) {
    watch.context_->stop.store(kStopCancelled, std::memory_order_relaxed);
  } else if (now >= watch.deadline_) {
    watch.context_->stop.store(kStopDeadline, std::memory_order_relaxed);
  }
  return true;
}

Watch::Watch() { Watchdog::Get().Add(this); }
Watch::~Watch() { Watchdog::Get().Remove(this); }

void Watch::Arm(RunContext* context, std::optional<Clock::time_point> deadline,
                const std::atomic<bool>* cancelled) {
  {
    const std::lock_guard lock(mutex_);
    context_ = context;
    deadline_ = deadline.value_or(Clock::time_point::max());
    cancelled_ = cancelled;
    ++runs_;
  }
  Watchdog::Get().WakeIfAsleep();
}

void Watch::Disarm() {
  const std::lock_guard lock(mutex_);
  context_ = nullptr;
  cancelled_ = nullptr;
}

}  // namespace pullback::jit
