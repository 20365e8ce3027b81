#include "core/base/work.h"

namespace pullback {
namespace {

thread_local Work* work = nullptr;
thread_local Growth* growth = nullptr;

}  // namespace

Work::Work(std::function<Status()> go_on) : go_on_(std::move(go_on)), around_(work) { work = this; }

Work::~Work() { work = around_; }

Status Work::Ask() {
  for (const Work* asked = work; asked != nullptr; asked = asked->around_) {
    if (Status s = asked->go_on_(); !s.ok()) return s;
  }
  return {};
}

bool Work::MayThrow() { return work != nullptr && internal::no_throw == 0; }

Growth::Growth(size_t most, std::function<Status()> end)
    : end_(std::move(end)), around_(growth), left_around_(internal::values_left) {
  growth = this;
  internal::values_left = most;
}

Growth::~Growth() {
  growth = around_;
  internal::values_left = left_around_;
}

namespace internal {

void AskWork() {
  steps_left = kStepsPerQuestion;
  if (Status s = Work::Ask(); !s.ok()) throw WorkEnded{std::move(s)};
}

void EndGrowth() { throw WorkEnded{growth->end_()}; }

}  // namespace internal
}  // namespace pullback
