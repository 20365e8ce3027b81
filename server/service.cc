#include "server/service.h"

#include <utility>

#include "server/errors.h"
#include "server/request.h"
#include "server/unary_call.h"

namespace pullback::server {
namespace {

Request MakeUnaryRequest(const char* method, const grpc::CallbackServerContext& context,
                         const ServerOptions& options) {
  Request request = MakeRequest(method, context);
  BoundDeadline(&request, 0, options);
  return request;
}

}  // namespace

Status Service::Admit(const grpc::CallbackServerContext& context) const {
  if (tokens_ == nullptr) return {};
  const auto found = context.client_metadata().find("authorization");
  if (found == context.client_metadata().end()) return tokens_->Check({});
  return tokens_->Check({found->second.data(), found->second.size()});
}

bool Service::Drain() {
  lanes_->gate.Close();
  streams_.DrainAll();
  return lanes_->gate.WaitEmpty(options_.drain_timeout);
}

grpc::ServerUnaryReactor* Service::Compile(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* in, grpc::ByteBuffer* out) {
  auto* call = new UnaryCall<v1::CompileRequest, v1::CompileResponse>(
      lanes_, handlers_, &Handlers::Compile, MakeUnaryRequest("Compile", *context, options_), in,
      out);
  call->Start(&lanes_->compile, Admit(*context));
  return call;
}

grpc::ServerUnaryReactor* Service::Evaluate(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* in, grpc::ByteBuffer* out) {
  auto* call = new UnaryCall<v1::EvaluateRequest, v1::EvaluateResponse>(
      lanes_, handlers_, &Handlers::Evaluate, MakeUnaryRequest("Evaluate", *context, options_), in,
      out);
  call->Start(&lanes_->run, Admit(*context));
  return call;
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Service::EvaluateStream(
    grpc::CallbackServerContext* context) {
  Request request = MakeRequest("EvaluateStream", *context);
  ReadMetadata(&request);
  return StreamCall::Open(lanes_, handlers_, &options_, &streams_, std::move(request),
                          [this, context] { return Admit(*context); });
}

grpc::ServerUnaryReactor* Service::Explain(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* in, grpc::ByteBuffer* out) {
  auto* call = new UnaryCall<v1::ExplainRequest, v1::ExplainResponse>(
      lanes_, handlers_, &Handlers::Explain, MakeUnaryRequest("Explain", *context, options_), in,
      out);
  call->Start(&lanes_->compile, Admit(*context));
  return call;
}

grpc::ServerUnaryReactor* Service::Format(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* in, grpc::ByteBuffer* out) {
  auto* call = new UnaryCall<v1::FormatRequest, v1::FormatResponse>(
      lanes_, handlers_, &Handlers::Format, MakeUnaryRequest("Format", *context, options_), in,
      out);
  call->Start(&lanes_->compile, Admit(*context));
  return call;
}

grpc::ServerUnaryReactor* Service::GetServerInfo(grpc::CallbackServerContext* context,
                                                 const v1::GetServerInfoRequest*,
                                                 v1::GetServerInfoResponse* out) {
  Request request = MakeRequest("GetServerInfo", *context);
  const Status admitted = Admit(*context);
  if (admitted.ok()) {
    handlers_->Info(out);
    out->mutable_load()->set_running(lanes_->run.running() + lanes_->compile.running());
    out->mutable_load()->set_queued(lanes_->run.queued() + lanes_->compile.queued());
  }
  lanes_->metrics.Count(request, admitted);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(admitted, request, std::chrono::milliseconds(0)));
  return reactor;
}

}  // namespace pullback::server
