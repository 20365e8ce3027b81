#include "client/cli/engine.h"

#include <utility>

#include "jit/baseline/baseline_backend.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/llvm/device_compiler.h"
#include "jit/llvm/llvm_backend.h"

namespace pullback::cli {
namespace {

static_assert(static_cast<int>(jit::Transform::kHessian) ==
              static_cast<int>(client::Transform::kHessian));
static_assert(static_cast<int>(jit::Target::kAuto) == static_cast<int>(client::Target::kAuto));
static_assert(static_cast<int>(jit::Tier::kLlvm) == static_cast<int>(client::Tier::kLlvm));

// Values by name in the order of `names`; nameless ones in their own.
std::vector<ApiValue> InOrder(const std::vector<client::NamedValue>& values,
                              const std::vector<std::string>& names) {
  std::vector<ApiValue> ordered;
  if (!values.empty() && values[0].name.empty()) {
    for (const client::NamedValue& value : values) ordered.push_back(value.value);
    return ordered;
  }
  for (const std::string& name : names) {
    for (const client::NamedValue& value : values) {
      if (value.name == name) ordered.push_back(value.value);
    }
  }
  return ordered;
}

}  // namespace

StatusOr<std::unique_ptr<jit::Engine>> MakeEngine() {
  PB_ASSIGN_OR_RETURN(auto llvm, jit::MakeLlvmBackend());
  PB_ASSIGN_OR_RETURN(auto baseline, jit::MakeBaselineBackend());
  PB_ASSIGN_OR_RETURN(auto device_compiler, jit::MakeDeviceCompiler());
  jit::EngineOptions options;
  options.device = jit::MakeCudaBackend(std::move(device_compiler));
  return std::make_unique<jit::Engine>(options, std::move(llvm), std::move(baseline));
}

jit::KernelRequest ToRequest(const client::KernelSpec& spec) {
  jit::KernelRequest request;
  request.program = spec.program;
  request.entry = spec.entry;
  request.transform = static_cast<jit::Transform>(spec.transform);
  request.wrt = spec.wrt;
  request.sparse = spec.sparse;
  request.options = {spec.optimise,
                     spec.opt_level,
                     static_cast<jit::Tier>(spec.tier),
                     static_cast<jit::Target>(spec.target),
                     static_cast<ad::Mixed>(spec.mixed),
                     spec.contractions == client::Contractions::kBlas ? jit::Contractions::kBlas
                                                                      : jit::Contractions::kExact};
  return request;
}

client::Compiled ToCompiled(const jit::Handle& handle) {
  client::Compiled compiled;
  compiled.kernel_id = handle.kernel_id;
  compiled.cache_hit = handle.cache_hit;
  const lang::Signature& signature = handle.view->signature;
  compiled.signature.entry = signature.entry;
  for (const lang::Parameter& p : signature.params) {
    compiled.signature.parameters.push_back({p.name, p.type});
  }
  compiled.signature.result = signature.result;
  compiled.signature.wrt = handle.view->wrt;
  compiled.signature.structs = signature.structs;
  for (const jit::Timing& timing : handle.timings) {
    compiled.timings.stages.push_back({timing.stage, timing.seconds});
    compiled.timings.total_seconds += timing.seconds;
  }
  return compiled;
}

jit::Inputs ToInputs(const client::Inputs& inputs, const client::Signature& signature) {
  std::vector<std::string> names;
  for (const client::Parameter& p : signature.parameters) names.push_back(p.name);
  jit::Inputs out;
  out.args = InOrder(inputs.arguments, names);
  out.seeds = InOrder(inputs.seeds, signature.wrt);
  return out;
}

}  // namespace pullback::cli
