// The thread on which LLVM compiles what tier 0 answers meanwhile.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace pullback::jit {

// Runs tasks one after the other. Those that wait when it is destroyed are dropped.
class Promoter {
 public:
  Promoter() : thread_([this] { Work(); }) {}
  Promoter(const Promoter&) = delete;
  Promoter& operator=(const Promoter&) = delete;
  ~Promoter();

  void Add(std::function<void()> task);
  // Once nothing waits and nothing runs.
  void Drain();

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;
  bool over_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace pullback::jit
