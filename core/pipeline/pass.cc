#include "core/pipeline/pass.h"

#include <chrono>

#include "core/base/work.h"
#include "core/ir/count_insts.h"
#include "core/ir/fingerprint.h"
#include "core/ir/verifier.h"

namespace pullback::pipeline {

namespace {

template <typename Fn>
Status Timed(const std::string& name, std::vector<PassTiming>* timings, Fn&& fn) {
  const auto start = std::chrono::steady_clock::now();
  Status status = fn();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (timings) timings->push_back({name, took.count()});
  return status;
}

constexpr size_t kMadePerKept = 4;  // a pass may drop some of what it makes

Status TooLarge(size_t most) {
  return {
      Code::kInvalidArgument, "PROGRAM_TOO_LARGE",
      "the program is too large: with its derivatives and functions written out it has more than " +
          std::to_string(most) + " instructions"};
}

}  // namespace

Status PassRunner::Run(const std::string& name, ir::Module& module,
                       const std::function<Status(ir::Module&)>& pass) {
  PB_RETURN_IF_ERROR(Timed(name, timings_, [&] { return Bounded([&] { return pass(module); }); }));
  if (ir::CountInsts(module) > max_insts_) return TooLarge(max_insts_);
  if (Status s = Timed("verify", timings_, [&] { return Verify(module); }); !s.ok())
    return {Code::kInternal, "IR_INVALID", "after pass '" + name + "': " + s.message()};
  if (observer_) observer_(name, module);
  return {};
}

Status PassRunner::Bounded(const std::function<Status()>& make) const {
  const Growth growth(kMadePerKept * max_insts_, [&] { return TooLarge(max_insts_); });
  try {
    PB_RETURN_IF_ERROR(make());
  } catch (const WorkEnded& ended) {
    return ended.status;
  }
  return Work::Ask();
}

Status PassRunner::Verify(const ir::Module& module) {
  const uint64_t fingerprint = ir::Fingerprint(module);
  if (verified_ == fingerprint) return {};
  PB_RETURN_IF_ERROR(ir::Verify(module));
  verified_ = fingerprint;
  return {};
}

}  // namespace pullback::pipeline
