// A bounded pool of compute threads with a first-in-first-out queue.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace pullback::server {

// One piece of work. The pool does not own it, and does not touch it once Run has begun, so that Run may
// end with the job's own destruction.
class Job {
 public:
  virtual ~Job() = default;
  virtual void Run() = 0;
};

class Pool {
 public:
  // At most `max_queued` jobs wait, holding at most `max_bytes` together.
  Pool(const std::string& name, int threads, size_t max_queued, size_t max_bytes);
  // Runs what is queued, then ends the threads.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // False when the queue is full: the job will not run. `bytes`: what it holds while it waits.
  [[nodiscard]] bool Submit(Job* job, size_t bytes);

  // Whether a thread is free for everything that waits.
  bool has_room() const {
    return static_cast<int64_t>(waiting_.load(std::memory_order_acquire)) <=
           std::max<int64_t>(0, threads() - running_.load(std::memory_order_relaxed));
  }
  // Work of another thread that counts as the pool's while this lives.
  class Guest {
   public:
    explicit Guest(Pool* pool) : pool_(pool) {
      pool_->guests_.fetch_add(1, std::memory_order_relaxed);
    }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    ~Guest() { pool_->guests_.fetch_sub(1, std::memory_order_relaxed); }

   private:
    Pool* const pool_;
  };

  int threads() const { return static_cast<int>(threads_.size()); }
  // With the guests.
  int64_t running() const {
    return running_.load(std::memory_order_relaxed) + guests_.load(std::memory_order_relaxed);
  }
  int64_t queued() const;
  // How long a full queue takes to make room, by the recent jobs: between 10 ms and 1 s.
  std::chrono::milliseconds RetryDelay() const;

 private:
  struct Entry {
    Job* job;
    size_t bytes;
  };
  static void* ThreadMain(void* pool);
  void Loop();
  void Linger(std::unique_lock<std::mutex>& lock);
  void RunOne(Job* job);

  const size_t max_queued_;
  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Entry> queue_;  // guarded by mutex_
  size_t queued_bytes_ = 0;  // guarded by mutex_
  int asleep_ = 0;           // guarded by mutex_
  bool lingering_ = false;   // guarded by mutex_: a thread without work has not gone to sleep yet
  bool stopping_ = false;    // guarded by mutex_
  std::atomic<size_t> waiting_{0};   // size of queue_, for those who do not lock
  std::atomic<int64_t> running_{0};  // jobs that its threads run
  std::atomic<int64_t> guests_{0};
  std::atomic<double> job_seconds_{0};  // moving average
  std::vector<pthread_t> threads_;
};

}  // namespace pullback::server
