// A session with the engine in this process.
#include <chrono>
#include <utility>

#include "client/cli/engine.h"
#include "client/cli/session.h"

namespace pullback::cli {
namespace {

class Local final : public Session {
 public:
  Local(std::unique_ptr<jit::Engine> engine, const jit::RunLimits& limits)
      : engine_(std::move(engine)), limits_(limits) {}

  StatusOr<client::Compiled> Compile(const client::KernelSpec& spec) override {
    PB_ASSIGN_OR_RETURN(const jit::Handle handle, engine_->Compile(ToRequest(spec), limits_));
    return ToCompiled(handle);
  }

  StatusOr<client::Evaluation> Evaluate(const client::KernelSpec& spec,
                                        const client::Compiled& kernel,
                                        const client::Inputs& inputs) override {
    jit::RunLimits limits = limits_;
    if (inputs.memory_bytes > 0) limits.memory_bytes = inputs.memory_bytes;
    if (inputs.max_depth > 0) limits.max_depth = inputs.max_depth;
    const auto begin = std::chrono::steady_clock::now();
    PB_ASSIGN_OR_RETURN(const jit::Handle handle, engine_->Compile(ToRequest(spec), limits));
    const jit::Inputs ordered = ToInputs(inputs, kernel.signature);
    PB_ASSIGN_OR_RETURN(jit::Outputs outputs, engine_->Run(handle, ordered, limits));
    client::Evaluation evaluation = ToEvaluation(std::move(outputs), kernel);
    evaluation.timings.total_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return evaluation;
  }

  StatusOr<std::string> Explain(const client::KernelSpec& spec, const std::string& stage,
                                const client::Inputs* inputs) override {
    if (inputs == nullptr) return engine_->Explain(ToRequest(spec), stage, nullptr, limits_);
    PB_ASSIGN_OR_RETURN(const client::Compiled kernel, Compile(spec));
    const jit::Inputs ordered = ToInputs(*inputs, kernel.signature);
    return engine_->Explain(ToRequest(spec), stage, &ordered, limits_);
  }

  StatusOr<client::ServerInfo> Info() override {
    client::ServerInfo info;
    info.version = PULLBACK_VERSION;
    info.build_id = engine_->build_id();
    info.backend = engine_->backend().name();
    info.target = engine_->backend().target();
    info.backend_version = engine_->backend().version();
    return info;
  }

 private:
  static client::Evaluation ToEvaluation(jit::Outputs outputs, const client::Compiled& kernel) {
    client::Evaluation evaluation;
    evaluation.value = std::move(outputs.value);
    const std::vector<std::string>& wrt = kernel.signature.wrt;
    for (size_t i = 0; i < outputs.derivatives.size(); ++i) {
      // The one derivative of a JVP has no name.
      std::string name = wrt.size() == outputs.derivatives.size() ? wrt[i] : "";
      evaluation.derivatives.push_back({std::move(name), std::move(outputs.derivatives[i])});
    }
    evaluation.kernel_id = kernel.kernel_id;
    evaluation.timings.execute_seconds = outputs.execute_seconds;
    evaluation.peak_bytes = outputs.peak_bytes;
    evaluation.tier = static_cast<client::Tier>(outputs.tier);
    evaluation.target = static_cast<client::Target>(outputs.target);
    evaluation.contractions = outputs.contractions;
    evaluation.contracted_by = std::move(outputs.contracted_by);
    return evaluation;
  }

  const std::unique_ptr<jit::Engine> engine_;
  const jit::RunLimits limits_;
};

}  // namespace

StatusOr<std::unique_ptr<Session>> OpenLocal(std::optional<double> deadline) {
  jit::RunLimits limits;
  if (deadline) {
    limits.deadline = std::chrono::steady_clock::now() +
                      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                          std::chrono::duration<double>(*deadline));
  }
  PB_ASSIGN_OR_RETURN(auto engine, MakeEngine());
  return std::unique_ptr<Session>(std::make_unique<Local>(std::move(engine), limits));
}

}  // namespace pullback::cli
