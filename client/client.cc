#include "client/client.h"

#include <grpcpp/create_channel.h>

#include <utility>

#include "client/convert.h"
#include "client/errors.h"
#include "client/impl.h"
#include "core/base/sha256.h"

namespace pullback::client {

// Lets a token reach a call while it runs.
class ScopedCancel {
 public:
  ScopedCancel(CancelToken* token, grpc::ClientContext* context) : token_(token) {
    if (token_ == nullptr) return;
    std::lock_guard lock(token_->mutex_);
    token_->call_ = context;
    if (token_->cancelled_) context->TryCancel();
  }
  ~ScopedCancel() {
    if (token_ == nullptr) return;
    std::lock_guard lock(token_->mutex_);
    token_->call_ = nullptr;
  }
  ScopedCancel(const ScopedCancel&) = delete;
  ScopedCancel& operator=(const ScopedCancel&) = delete;

 private:
  CancelToken* const token_;
};

void CancelToken::Cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (call_ != nullptr) static_cast<grpc::ClientContext*>(call_)->TryCancel();
}

NamedValue Arg(std::string name, ApiValue value) { return {std::move(name), std::move(value)}; }
NamedValue Arg(std::string name, Tensor tensor) {
  return {std::move(name), ApiValue{false, std::move(tensor), {}}};
}

std::shared_ptr<const Compiled> KnownKernels::Find(const std::string& key) {
  std::lock_guard lock(mutex_);
  const auto found = kernels_.find(key);
  return found == kernels_.end() ? nullptr : found->second;
}

void KnownKernels::Put(const std::string& key, Compiled kernel) {
  std::lock_guard lock(mutex_);
  if (kernels_.size() >= kMaxKernels) kernels_.clear();
  kernels_[key] = std::make_shared<const Compiled>(std::move(kernel));
}

void KnownKernels::Forget(const std::string& key) {
  std::lock_guard lock(mutex_);
  kernels_.erase(key);
}

std::string KeyOf(const KernelSpec& spec) {
  v1::KernelSpec message;
  ToMessage(spec, &message);
  return Sha256Hex(message.SerializeAsString());
}

void Client::Impl::Prepare(const CallOptions& call, const std::string& program_hash,
                           grpc::ClientContext* context) const {
  if (!authorization.empty()) context->AddMetadata("authorization", authorization);
  if (call.timeout) context->set_deadline(std::chrono::system_clock::now() + *call.timeout);
  if (!call.request_id.empty()) context->AddMetadata("x-request-id", call.request_id);
  if (!program_hash.empty()) context->AddMetadata("x-pullback-program-hash", program_hash);
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& target,
                                                  const ConnectOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  if (options.own_connection) arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  PB_ASSIGN_OR_RETURN(Secrets secrets, ReadSecrets(options.security));
  auto impl = std::make_unique<Impl>();
  impl->authorization = std::move(secrets.authorization);
  impl->channel = grpc::CreateCustomChannel(target, secrets.credentials, arguments);
  impl->stub = v1::GradientService::NewStub(impl->channel);
  const bool wait = options.wait.count() > 0;
  if (wait && !impl->channel->WaitForConnected(std::chrono::system_clock::now() + options.wait)) {
    return Status(Code::kUnavailable, "UNAVAILABLE", "no server answers at " + target);
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

StatusOr<Compiled> Client::Compile(const KernelSpec& spec, const CallOptions& call) {
  v1::CompileRequest request;
  v1::CompileResponse response;
  ToMessage(spec, request.mutable_spec());
  PB_ASSIGN_OR_RETURN(const std::string program_hash, impl_->HashOf(spec, call));
  grpc::ClientContext context;
  impl_->Prepare(call, program_hash, &context);
  const ScopedCancel cancel(call.cancel, &context);
  const grpc::Status status = impl_->stub->Compile(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  PB_ASSIGN_OR_RETURN(Compiled compiled, FromMessage(response));
  compiled.program_hash = program_hash;
  return compiled;
}

StatusOr<Evaluation> Client::Evaluate(const KernelSpec& spec, const Inputs& inputs,
                                      const CallOptions& call) {
  // The time of compiling counts against the call's.
  const auto begin = std::chrono::steady_clock::now();
  const std::string key = KeyOf(spec);
  CallOptions rest = call;
  const auto spend = [&] {
    if (call.timeout) {
      rest.timeout = *call.timeout - std::chrono::duration_cast<std::chrono::milliseconds>(
                                         std::chrono::steady_clock::now() - begin);
    }
  };
  // Twice: a kernel that was known may have been dropped.
  for (bool again = true;; again = false) {
    auto kernel = impl_->kernels.Find(key);
    const bool known = kernel != nullptr;
    if (!known) {
      PB_ASSIGN_OR_RETURN(Compiled compiled, Compile(spec, rest));
      impl_->kernels.Put(key, compiled);
      kernel = std::make_shared<const Compiled>(std::move(compiled));
    }
    spend();
    auto result = Evaluate(*kernel, inputs, rest);
    if (result.ok()) {
      result->cache_hit = known || kernel->cache_hit;
      return result;
    }
    if (result.status().reason() != "KERNEL_NOT_RESIDENT") {
      const bool ours = !kernel->cache_hit;
      if (ours || result.status().diagnostics().empty()) return result;
      spend();
      return impl_->EvaluateText(spec, inputs, rest);
    }
    impl_->kernels.Forget(key);
    if (!again) return result;
  }
}

StatusOr<Evaluation> Client::Evaluate(const Compiled& kernel, const Inputs& inputs,
                                      const CallOptions& call) {
  v1::EvaluateRequest request;
  v1::EvaluateResponse response;
  request.set_kernel_id(kernel.kernel_id);
  PB_RETURN_IF_ERROR(ToMessage(inputs, &kernel.signature, &request));
  PB_RETURN_IF_ERROR(impl_->Evaluate(request, kernel.program_hash, call, &response));
  response.set_kernel_id(kernel.kernel_id);
  return FromMessage(response, &kernel.signature);
}

StatusOr<std::string> Client::Impl::HashOf(const KernelSpec& spec, const CallOptions& call) const {
  if (spec.tables == nullptr) return Sha256Hex(spec.program);
  v1::FormatRequest request;
  v1::FormatResponse response;
  *request.mutable_program()->mutable_tables() = *spec.tables;
  grpc::ClientContext context;
  Prepare(call, "", &context);
  const ScopedCancel cancel(call.cancel, &context);
  const grpc::Status status = stub->Format(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response.hash();
}

StatusOr<Evaluation> Client::Impl::EvaluateText(const KernelSpec& spec, const Inputs& inputs,
                                                const CallOptions& call) {
  v1::EvaluateRequest request;
  v1::EvaluateResponse response;
  ToMessage(spec, request.mutable_spec());
  PB_RETURN_IF_ERROR(ToMessage(inputs, nullptr, &request));
  PB_ASSIGN_OR_RETURN(const std::string program_hash, HashOf(spec, call));
  PB_RETURN_IF_ERROR(Evaluate(request, program_hash, call, &response));
  return FromMessage(response, nullptr);
}

Status Client::Impl::Evaluate(const v1::EvaluateRequest& request, const std::string& program_hash,
                              const CallOptions& call, v1::EvaluateResponse* response) {
  grpc::ClientContext context;
  Prepare(call, program_hash, &context);
  const ScopedCancel cancel(call.cancel, &context);
  const grpc::Status status = stub->Evaluate(&context, request, response);
  return status.ok() ? Status() : FromGrpc(status);
}

StatusOr<std::vector<StageText>> Client::Explain(const KernelSpec& spec,
                                                 const std::vector<std::string>& stages,
                                                 const CallOptions& call) {
  v1::ExplainRequest request;
  v1::ExplainResponse response;
  ToMessage(spec, request.mutable_spec());
  for (const std::string& stage : stages) request.add_stages(stage);
  PB_ASSIGN_OR_RETURN(const std::string program_hash, impl_->HashOf(spec, call));
  grpc::ClientContext context;
  impl_->Prepare(call, program_hash, &context);
  const ScopedCancel cancel(call.cancel, &context);
  const grpc::Status status = impl_->stub->Explain(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  std::vector<StageText> texts;
  for (const v1::StageText& stage : response.stages()) {
    texts.push_back({stage.stage(), stage.text()});
  }
  return texts;
}

StatusOr<ServerInfo> Client::Info(const CallOptions& call) {
  v1::GetServerInfoResponse response;
  grpc::ClientContext context;
  impl_->Prepare(call, "", &context);
  const ScopedCancel cancel(call.cancel, &context);
  const grpc::Status status =
      impl_->stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &response);
  if (!status.ok()) return FromGrpc(status);
  return FromMessage(response);
}

}  // namespace pullback::client
