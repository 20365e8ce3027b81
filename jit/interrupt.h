// Whether anybody still waits for the answer: looked at between stages of a compile and while waiting.
#pragma once

#include "core/base/status.h"
#include "jit/engine.h"

namespace pullback::jit {

Status DeadlineExceeded();
Status Cancelled();

// Whether it is one of these: about the caller, not about what was asked.
bool IsInterruption(const Status& status);

// CANCELLED or DEADLINE_EXCEEDED, or OK.
Status CheckLive(const RunLimits& limits);

}  // namespace pullback::jit
