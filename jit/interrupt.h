// Whether anybody still waits for the answer: looked at between stages of a compile, inside its passes and while
// waiting.
#pragma once

#include <utility>

#include "core/base/status.h"
#include "core/base/work.h"
#include "jit/engine.h"

namespace pullback::jit {

Status DeadlineExceeded();
Status Cancelled();

// Whether it is one of these: about the caller, not about what was asked.
bool IsInterruption(const Status& status);

// CANCELLED or DEADLINE_EXCEEDED, or OK.
Status CheckLive(const RunLimits& limits);

// What fn() returns, which is work that CheckLive may end.
template <typename Fn>
auto WhileWanted(const RunLimits& limits, Fn&& fn) {
  return pullback::WhileWanted([&limits] { return CheckLive(limits); }, std::forward<Fn>(fn));
}

}  // namespace pullback::jit
