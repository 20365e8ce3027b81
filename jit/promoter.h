// The thread on which LLVM compiles what tier 0 answers meanwhile.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace pullback::jit {

// Runs tasks one after the other. Those that wait when it is destroyed are dropped, and what runs then is told so
// by its Work (core/base/work.h).
class Promoter {
 public:
  Promoter() : thread_([this] { RunTasks(); }) {}
  Promoter(const Promoter&) = delete;
  Promoter& operator=(const Promoter&) = delete;
  ~Promoter();

  void Add(std::function<void()> task);
  // Once nothing waits and nothing runs.
  void Drain();

 private:
  void RunTasks();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;
  std::atomic<bool> over_ = false;  // changed with the mutex held
  std::thread thread_;              // last: it uses the others
};

}  // namespace pullback::jit
