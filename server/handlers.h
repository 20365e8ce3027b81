// What each RPC does, from message to message, on a compute thread (TryEvaluate: on gRPC's). No gRPC here.
#pragma once

#include <memory>
#include <optional>

#include "core/base/status.h"
#include "jit/engine.h"
#include "pullback/v1/service.pb.h"
#include "server/metrics.h"
#include "server/options.h"
#include "server/program_texts.h"
#include "server/request.h"
#include "server/short_runs.h"

namespace pullback::server {

class Handlers {
 public:
  Handlers(std::shared_ptr<jit::Engine> engine, const ServerOptions& options)
      : engine_(std::move(engine)), options_(options), started_(Clock::now()) {}

  Status Compile(Request& request, const v1::CompileRequest& in, v1::CompileResponse* out);
  Status Evaluate(Request& request, const v1::EvaluateRequest& in, v1::EvaluateResponse* out);
  // The same on a thread of gRPC's, where that need not be held for longer than a short run takes (about a
  // millisecond, when a run is not what it was expected to be). Nothing: it is to be run in a pool, from the start.
  std::optional<Status> TryEvaluate(Request& request, const v1::EvaluateRequest& in,
                                    v1::EvaluateResponse* out);
  Status Format(Request& request, const v1::FormatRequest& in, v1::FormatResponse* out);
  Status Explain(Request& request, const v1::ExplainRequest& in, v1::ExplainResponse* out);
  // All but running and queued, which the pools know.
  void Info(v1::GetServerInfoResponse* out) const;
  // Likewise.
  LoadSample Load() const;

 private:
  jit::RunLimits LimitsOf(const Request& request) const;
  StatusOr<jit::Handle> CompileSpec(Request& request, const v1::KernelSpec& spec);
  StatusOr<jit::RunLimits> LimitsOf(const Request& request, const v1::RunOptions& options) const;
  // Leaves the kernel in the request.
  Status Find(Request& request, const v1::EvaluateRequest& in, v1::EvaluateResponse* out);
  Status FindOrCompile(Request& request, const v1::EvaluateRequest& in, v1::EvaluateResponse* out);
  std::optional<Status> EvaluateShort(Request& request, const v1::EvaluateRequest& in,
                                      v1::EvaluateResponse* out);
  // On a thread of the pool.
  Status RunInPool(Request& request, const v1::EvaluateRequest& in, const jit::RunLimits& limits,
                   v1::EvaluateResponse* out);
  Status RunKernel(Request& request, const v1::EvaluateRequest& in, const jit::RunLimits& limits,
                   v1::EvaluateResponse* out);
  // The same where nothing but tensors goes in and comes out.
  Status RunOnTensors(Request& request, const v1::EvaluateRequest& in, const jit::RunLimits& limits,
                      v1::EvaluateResponse* out);

  const std::shared_ptr<jit::Engine> engine_;
  const ServerOptions options_;
  const Clock::time_point started_;
  ProgramTexts texts_{options_.engine.limits};
  ShortRuns short_runs_;
};

}  // namespace pullback::server
