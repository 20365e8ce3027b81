// Single flight: of all threads that want the same kernel at once, one makes it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "core/base/status.h"
#include "jit/engine.h"
#include "jit/kernel.h"

namespace pullback::jit {

using KernelPtr = std::shared_ptr<const Kernel>;

class SingleFlight {
 public:
  // The kernel `id`, made by `make` on this thread or on another that was here before. Waiting looks at
  // `limits`. A failure is shared only by those who asked the same (`question`), since its places are of
  // one text, and not when it is the maker's own deadline or cancellation: the others try again.
  StatusOr<KernelPtr> Get(const std::string& id, const std::string& question,
                          const RunLimits& limits,
                          const std::function<StatusOr<KernelPtr>()>& make);

 private:
  struct Flight {
    explicit Flight(std::string q) : question(std::move(q)) {}
    const std::string question;
    std::mutex mutex;
    std::condition_variable landed;
    bool done = false;  // guarded by mutex, like what follows
    KernelPtr kernel;   // null: it failed
    Status failure;
  };
  class Leader;

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;  // guarded by mutex_

  // OK when the flight has landed.
  static Status Wait(Flight& flight, const RunLimits& limits);
};

}  // namespace pullback::jit
