#include "jit/runtime/reaper.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>

#include "jit/runtime/support.h"

namespace pullback::jit {
namespace {

constexpr int64_t kAtOnce = int64_t{8} << 20;  // about half a millisecond of small pages
constexpr int64_t kMostWaiting = int64_t{1} << 30;
constexpr int64_t kSlice = int64_t{16}
                           << 20;  // the address space is locked no longer than this takes

void UnmapNow(void* data, int64_t size) {
  for (int64_t at = 0; at < size; at += kSlice) {
    ::munmap(static_cast<char*>(data) + at, static_cast<size_t>(std::min(kSlice, size - at)));
  }
}

class Reaper {
 public:
  // Lives as long as the process: threads may give memory back until its very end.
  static Reaper& Get() {
    static Reaper* const reaper = new Reaper;
    return *reaper;
  }

  struct Job {
    void* data = nullptr;  // a mapping, or
    Remains remains;
    int64_t bytes = 0;
  };

  // One job is always taken, however large.
  bool Add(const Job& job) {
    const std::lock_guard lock(mutex_);
    if (waiting_ > 0 && waiting_ + job.bytes > kMostWaiting) return false;
    waiting_ += job.bytes;
    jobs_.push_back(job);
    wake_.notify_one();
    return true;
  }

  void Await() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return jobs_.empty() && !busy_; });
  }

 private:
  // The process's signals are for its other threads.
  Reaper() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { Loop(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void Loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !jobs_.empty(); });
      const Job job = jobs_.front();
      jobs_.pop_front();
      busy_ = true;
      lock.unlock();
      if (job.data != nullptr) {
        UnmapNow(job.data, job.bytes);
      } else {
        FreeRemains(job.remains);
      }
      lock.lock();
      busy_ = false;
      waiting_ -= job.bytes;
      if (jobs_.empty()) idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<Job> jobs_;
  int64_t waiting_ = 0;  // bytes, of the job at work too
  bool busy_ = false;
};

}  // namespace

void Unmap(void* data, int64_t size) {
  if (size <= kAtOnce || !Reaper::Get().Add({data, {}, size})) UnmapNow(data, size);
}

bool BuryLater(const Remains& remains) {
  return Reaper::Get().Add({nullptr, remains, remains.bytes});
}

void AwaitReaper() { Reaper::Get().Await(); }

}  // namespace pullback::jit
