#include "core/pipeline/pass.h"

#include <chrono>

#include "core/ir/verifier.h"

namespace pullback::pipeline {

Status PassRunner::Run(const std::string& name, ir::Module& module,
                       const std::function<Status(ir::Module&)>& pass) {
  const auto start = std::chrono::steady_clock::now();
  PB_RETURN_IF_ERROR(pass(module));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (timings_) timings_->push_back({name, took.count()});
  if (Status s = ir::Verify(module); !s.ok())
    return {Code::kInternal, "IR_INVALID", "after pass '" + name + "': " + s.message()};
  if (observer_) observer_(name, module);
  return {};
}

}  // namespace pullback::pipeline
