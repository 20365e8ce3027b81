// What copying results out of a run may take: it is charged to the run, and stops with it.
#pragma once

#include <algorithm>

#include "core/base/status.h"
#include "jit/engine.h"
#include "jit/runtime/context.h"
#include "jit/trap.h"

namespace pullback::jit {

class CopyBudget {
 public:
  CopyBudget(RunContext* context, const TextView& view) : context_(context), view_(view) {}

  // False once anything has failed. What a run holds is no bound on what is copied: one array may be
  // several results.
  bool Charge(int64_t bytes) {
    if (!Live()) return false;
    if (bytes > context_->bytes_budget - context_->bytes_used) {
      return Fail(ir::TrapKind::kMemory, bytes, context_->bytes_budget);
    }
    context_->bytes_used += bytes;
    context_->peak_bytes = std::max(context_->peak_bytes, context_->bytes_used);
    return true;
  }
  bool Live() {
    const int32_t stop = context_->stop.load(std::memory_order_relaxed);
    if (stop != 0) Fail(ir::TrapKind::kStopped, stop, 0);
    return status_.ok();
  }
  bool Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
    return false;
  }
  const Status& status() const { return status_; }

 private:
  bool Fail(ir::TrapKind kind, int64_t a, int64_t b) {
    return Fail(TrapStatus({kind, 0, a, b}, {view_.places, view_.text}));
  }

  RunContext* const context_;
  const TextView& view_;
  Status status_;
};

}  // namespace pullback::jit
