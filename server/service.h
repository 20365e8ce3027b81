// The gRPC service: every reaction wraps its call and starts it.
#pragma once

#include "pullback/v1/service.grpc.pb.h"
#include "server/handlers.h"
#include "server/lanes.h"
#include "server/stream_call.h"
#include "server/tokens.h"

namespace pullback::server {

namespace raw {
using WithInfo =
    v1::GradientService::WithCallbackMethod_GetServerInfo<v1::GradientService::Service>;
using WithExplain = v1::GradientService::WithRawCallbackMethod_Explain<WithInfo>;
using WithFormat = v1::GradientService::WithRawCallbackMethod_Format<WithExplain>;
using WithStream = v1::GradientService::WithRawCallbackMethod_EvaluateStream<WithFormat>;
using WithEvaluate = v1::GradientService::WithRawCallbackMethod_Evaluate<WithStream>;
using WithCompile = v1::GradientService::WithRawCallbackMethod_Compile<WithEvaluate>;
}  // namespace raw

class Service final : public raw::WithCompile {
 public:
  // tokens: who may ask; null: everybody.
  Service(Lanes* lanes, Handlers* handlers, const ServerOptions& options, Tokens* tokens)
      : lanes_(lanes), handlers_(handlers), options_(options), tokens_(tokens) {}

  // Refuses new calls and waits until the running ones are answered, at most drain_timeout. True when
  // all were.
  bool Drain();

  grpc::ServerUnaryReactor* Compile(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* in, grpc::ByteBuffer* out) override;
  grpc::ServerUnaryReactor* Evaluate(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* in, grpc::ByteBuffer* out) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* EvaluateStream(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* in, grpc::ByteBuffer* out) override;
  grpc::ServerUnaryReactor* Format(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                   grpc::ByteBuffer* out) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const v1::GetServerInfoRequest* in,
                                          v1::GetServerInfoResponse* out) override;

 private:
  Status Admit(const grpc::CallbackServerContext& context) const;

  Lanes* const lanes_;
  Handlers* const handlers_;
  const ServerOptions options_;
  Tokens* const tokens_;
  StreamSet streams_;
};

}  // namespace pullback::server
