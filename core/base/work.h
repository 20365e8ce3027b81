// What ends a compile early, however deep inside a pass it is: nobody waits any more, or it makes too much code.
//
// Who begins the work holds a Work (and Growth), on its own thread; who does it calls Spend, which costs a
// decrement nearly always. What is in the making is lost when Spend throws. Ends of growth do not depend on time,
// so that a program compiles, or does not, on every machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/base/status.h"

namespace pullback {

namespace internal {

inline constexpr int kStepsPerQuestion = 4096;
inline thread_local int steps_left = kStepsPerQuestion;
inline thread_local size_t values_left = SIZE_MAX;
inline thread_local int no_throw = 0;
void AskWork();  // throws WorkEnded
[[noreturn]] void EndGrowth();

}  // namespace internal

// Thrown by Spend, and by a PB_CHECK that fails; caught by who began the work.
struct WorkEnded {
  Status status;
};

// While it lives, work of this thread asks `go_on` now and then, and then the Work around it; it ends by the
// first answer that is not OK.
class Work {
 public:
  explicit Work(std::function<Status()> go_on);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // What this thread's Work answers now; OK without one. For code that must not throw.
  static Status Ask();
  // Whether there is one to throw to.
  static bool MayThrow();

 private:
  std::function<Status()> go_on_;
  Work* around_;
};

// While it lives, nothing is thrown on this thread: what cannot go on stops the process. For calls that no exception
// can pass through.
class NoThrow {
 public:
  NoThrow() { ++internal::no_throw; }
  ~NoThrow() { --internal::no_throw; }
  NoThrow(const NoThrow&) = delete;
  NoThrow& operator=(const NoThrow&) = delete;
};

// While it lives, work of this thread may make so many values of the program in the making; the next one ends it
// by `end`. Growth inside Growth counts for itself.
class Growth {
 public:
  Growth(size_t most, std::function<Status()> end);
  ~Growth();
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;

 private:
  friend void internal::EndGrowth();
  std::function<Status()> end_;
  Growth* around_;
  size_t left_around_;
};

// So many steps of some hundred instructions each.
inline void Spend(size_t steps) {
  const size_t counted = std::min<size_t>(steps, internal::kStepsPerQuestion);
  if ((internal::steps_left -= static_cast<int>(counted)) <= 0) internal::AskWork();
}

// A value of the program that is being made.
inline void SpendValue() {
  if (internal::values_left == 0) internal::EndGrowth();
  --internal::values_left;
  Spend(1);
}

// What fn() returns, a Status or StatusOr, or what `go_on` ended it with.
template <typename Fn>
auto WhileWanted(std::function<Status()> go_on, Fn&& fn) -> decltype(fn()) {
  const Work work(std::move(go_on));
  try {
    return fn();
  } catch (const WorkEnded& ended) {
    return ended.status;
  }
}

}  // namespace pullback
