#include "server/pool.h"

#include <sched.h>

#include <algorithm>

#include "core/base/status.h"

namespace pullback::server {
namespace {

// For compiling: kernels have stacks of their own (jit/runtime/stack.h). Pages are only taken when touched.
constexpr size_t kStackBytes = size_t{16} << 20;

// A thread that has run out of work looks for more this long before it sleeps: waking it costs a request
// more than most kernels take. It yields to any thread that can run, and one thread at a time does it.
constexpr std::chrono::microseconds kLinger{200};

pthread_t StartThread(void* (*main)(void*), void* argument, const std::string& name) {
  pthread_attr_t attributes;
  PB_CHECK(pthread_attr_init(&attributes) == 0);
  PB_CHECK(pthread_attr_setstacksize(&attributes, kStackBytes) == 0);
  pthread_t thread;
  PB_CHECK(pthread_create(&thread, &attributes, main, argument) == 0);
  pthread_attr_destroy(&attributes);
  pthread_setname_np(thread, name.substr(0, 15).c_str());
  return thread;
}

}  // namespace

Pool::Pool(const std::string& name, int threads, size_t max_queued, size_t max_bytes)
    : max_queued_(max_queued), max_bytes_(max_bytes) {
  for (int i = 0; i < std::max(1, threads); ++i) {
    threads_.push_back(StartThread(&ThreadMain, this, name + "-" + std::to_string(i)));
  }
}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (pthread_t thread : threads_) pthread_join(thread, nullptr);
}

bool Pool::Submit(Job* job, size_t bytes) {
  bool wake;
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= max_queued_) return false;
    // One job is always let in, however large.
    if (!queue_.empty() && queued_bytes_ + bytes > max_bytes_) return false;
    queue_.push_back({job, bytes});
    queued_bytes_ += bytes;
    waiting_.store(queue_.size(), std::memory_order_release);
    // The lingering thread sees the job by itself; whoever comes beyond it must be woken.
    wake = asleep_ > 0 && queue_.size() > (lingering_ ? 1U : 0U);
  }
  if (wake) wake_.notify_one();
  return true;
}

int64_t Pool::queued() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(queue_.size());
}

std::chrono::milliseconds Pool::RetryDelay() const {
  const double seconds =
      job_seconds_.load(std::memory_order_relaxed) * static_cast<double>(queued()) / threads();
  return std::chrono::milliseconds(static_cast<int64_t>(std::clamp(seconds, 0.01, 1.0) * 1000));
}

void* Pool::ThreadMain(void* pool) {
  static_cast<Pool*>(pool)->Loop();
  return nullptr;
}

void Pool::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (queue_.empty() && !stopping_ && !lingering_) Linger(lock);
    ++asleep_;
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --asleep_;
    if (queue_.empty()) return;
    const Entry entry = queue_.front();
    queue_.pop_front();
    queued_bytes_ -= entry.bytes;
    waiting_.store(queue_.size(), std::memory_order_release);
    lock.unlock();
    RunOne(entry.job);
    lock.lock();
  }
}

void Pool::Linger(std::unique_lock<std::mutex>& lock) {
  lingering_ = true;
  lock.unlock();
  const auto end = std::chrono::steady_clock::now() + kLinger;
  while (waiting_.load(std::memory_order_acquire) == 0 && std::chrono::steady_clock::now() < end) {
    sched_yield();
  }
  lock.lock();
  lingering_ = false;
}

void Pool::RunOne(Job* job) {
  running_.fetch_add(1, std::memory_order_relaxed);
  const auto begin = std::chrono::steady_clock::now();
  job->Run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double average = job_seconds_.load(std::memory_order_relaxed);
  job_seconds_.store(average + (took.count() - average) / 16, std::memory_order_relaxed);
  running_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace pullback::server
