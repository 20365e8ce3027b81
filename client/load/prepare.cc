#include "client/load/prepare.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <vector>

#include "client/convert.h"
#include "client/errors.h"
#include "client/impl.h"
#include "client/load/wire.h"

namespace pullback::load {
namespace {

constexpr std::chrono::seconds kWait{30};

StatusOr<std::string> Call(const std::string& target, const client::Security& security,
                           const std::string& method, const std::string& request) {
  PB_ASSIGN_OR_RETURN(const client::Secrets secrets, client::ReadSecrets(security));
  grpc::GenericStub stub(grpc::CreateChannel(target, secrets.credentials));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  Headers{{}, secrets.authorization}.AddTo(&context);
  context.set_deadline(std::chrono::system_clock::now() + kWait);
  const grpc::Slice slice(request);
  grpc::ByteBuffer response;
  grpc::Status status;
  const auto call = stub.PrepareUnaryCall(&context, "/pullback.v1.GradientService/" + method,
                                          grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
  Drain(&queue);
  if (!status.ok()) return client::FromGrpc(status);
  std::vector<grpc::Slice> slices;
  static_cast<void>(response.Dump(&slices));
  std::string bytes;
  for (const grpc::Slice& s : slices) bytes.append(s.begin(), s.end());
  return bytes;
}

}  // namespace

StatusOr<std::string> WarmRequest(const client::Compiled& kernel, const client::Inputs& inputs) {
  v1::EvaluateRequest request;
  request.set_kernel_id(kernel.kernel_id);
  PB_RETURN_IF_ERROR(client::ToMessage(inputs, &kernel.signature, &request));
  return request.SerializeAsString();
}

StatusOr<std::string> ColdRequest(const client::KernelSpec& spec, const client::Inputs& inputs) {
  v1::EvaluateRequest request;
  client::ToMessage(spec, request.mutable_spec());
  PB_RETURN_IF_ERROR(client::ToMessage(inputs, nullptr, &request));
  return request.SerializeAsString();
}

StatusOr<std::string> Ask(const std::string& target, const client::Security& security,
                          const std::string& request) {
  return Call(target, security, "Evaluate", request);
}

Status TeachEcho(const std::string& target, const std::string& reply) {
  return Call(target, {}, "Compile", reply).status();
}

}  // namespace pullback::load
