// The stack that kernels run on, one per thread. Address space is reserved once; it may be touched, and
// is charged to the run's budget, as calls need it. So recursion is as deep as depth limit and budget
// allow, whatever thread asks, and a shallow run costs a few pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/runtime/context.h"

namespace pullback::jit {

class Stack {
 public:
  static constexpr int64_t kFree = int64_t{4} << 20;      // every run has it uncharged
  static constexpr int64_t kReserved = int64_t{1} << 34;  // address space
  static constexpr int64_t kKept = int64_t{64} << 20;     // stays touched after a run
  // Of one function. Its code takes it before the check that it makes.
  static constexpr int64_t kMostFrame = int64_t{2} << 20;
  // Below stack_limit: for such a frame, and for what runs without a check of its own, which is the runtime's functions,
  // leaves, and the part of a frame that a check cannot see.
  static constexpr int64_t kBelowLimit = kMostFrame + (int64_t{256} << 10);

  static Stack& OfThisThread();
  Stack() = default;
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack();

  // Sets c's stack_limit. False where the system gives no memory.
  bool Begin(RunContext* c);
  // Runs fn(argument) on this stack. It may be left by longjmp.
  void Call(void (*fn)(void*), void* argument);
  // After Call: gives back what a deep recursion took.
  void End(bool returned);
  // pb_stack_grow.
  void Grow(RunContext* c, const char* here, int64_t frame);

 private:
  bool Reserve();
  bool Open(int64_t bytes);  // makes so much of the top usable
  char* top() const { return low_ + size_; }

  char* low_ = nullptr;  // of the reservation
  int64_t size_ = 0;
  int64_t open_ = 0;     // from the top, may be touched
  int64_t allowed_ = 0;  // from the top, by the run that is going on: free or charged
  // For AddressSanitizer, which has to know what stack is in use.
  [[maybe_unused]] void* fake_ = nullptr;
  [[maybe_unused]] const void* callers_low_ = nullptr;
  [[maybe_unused]] size_t callers_size_ = 0;
};

}  // namespace pullback::jit
