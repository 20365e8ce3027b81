#include "jit/interrupt.h"

namespace pullback::jit {

Status DeadlineExceeded() {
  return {Code::kDeadlineExceeded, "DEADLINE_EXCEEDED", "the deadline has passed"};
}

Status Cancelled() { return {Code::kCancelled, "CANCELLED", "the request was cancelled"}; }

bool IsInterruption(const Status& status) {
  return status.code() == Code::kCancelled || status.code() == Code::kDeadlineExceeded;
}

Status CheckLive(const RunLimits& limits) {
  if (limits.cancelled && limits.cancelled->load(std::memory_order_relaxed)) return Cancelled();
  const bool late = limits.deadline && std::chrono::steady_clock::now() >= *limits.deadline;
  return late ? DeadlineExceeded() : Status();
}

}  // namespace pullback::jit
