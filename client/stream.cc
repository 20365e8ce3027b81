#include <utility>

#include "client/client.h"
#include "client/convert.h"
#include "client/errors.h"
#include "client/impl.h"

namespace pullback::client {

std::unique_ptr<EvaluateStream> Client::OpenStream(const CallOptions& call) {
  auto impl = std::make_unique<EvaluateStream::Impl>();
  impl_->Prepare(call, call.program_hash, &impl->context);
  impl->stream = impl_->stub->EvaluateStream(&impl->context);
  return std::unique_ptr<EvaluateStream>(new EvaluateStream(std::move(impl)));
}

EvaluateStream::EvaluateStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

EvaluateStream::~EvaluateStream() {
  if (impl_->finished) return;
  impl_->context.TryCancel();
  impl_->stream->Finish();
}

bool EvaluateStream::Impl::Send(uint64_t id,
                                const std::optional<std::chrono::milliseconds>& timeout,
                                v1::EvaluateStreamRequest* request) {
  request->set_id(id);
  if (timeout) {
    request->set_timeout_seconds(std::chrono::duration<double>(*timeout).count());
  }
  return stream->Write(*request);
}

bool EvaluateStream::Send(uint64_t id, const KernelSpec& spec, const Inputs& inputs,
                          std::optional<std::chrono::milliseconds> timeout) {
  v1::EvaluateStreamRequest request;
  ToMessage(spec, request.mutable_request()->mutable_spec());
  // Without a signature nothing can be wrong here.
  PB_CHECK(ToMessage(inputs, nullptr, request.mutable_request()).ok());
  return impl_->Send(id, timeout, &request);
}

bool EvaluateStream::Send(uint64_t id, const Compiled& kernel, const Inputs& inputs,
                          std::optional<std::chrono::milliseconds> timeout) {
  v1::EvaluateStreamRequest request;
  v1::EvaluateRequest* const item = request.mutable_request();
  if (!ToMessage(inputs, &kernel.signature, item).ok()) {
    // Names that are not the kernel's: sent as they are, so that the answer says so in its turn.
    item->Clear();
    PB_CHECK(ToMessage(inputs, nullptr, item).ok());
  }
  item->set_kernel_id(kernel.kernel_id);
  {
    std::lock_guard lock(impl_->mutex);
    impl_->renames.insert_or_assign(id, kernel.signature);
  }
  return impl_->Send(id, timeout, &request);
}

void EvaluateStream::CloseSend() {
  {
    std::lock_guard lock(impl_->mutex);
    if (std::exchange(impl_->closed, true)) return;
  }
  impl_->stream->WritesDone();
}

std::optional<EvaluateStream::Answer> EvaluateStream::Receive() {
  std::optional<Signature> rename;
  v1::EvaluateStreamResponse response;
  if (!impl_->stream->Read(&response)) return std::nullopt;
  {
    std::lock_guard lock(impl_->mutex);
    if (auto node = impl_->renames.extract(response.id())) rename = std::move(node.mapped());
  }
  if (response.has_status()) return Answer{response.id(), FromRpc(response.status())};
  return Answer{response.id(), FromMessage(response.response(), rename ? &*rename : nullptr)};
}

Status EvaluateStream::Finish() {
  CloseSend();
  impl_->finished = true;
  return FromGrpc(impl_->stream->Finish());
}

}  // namespace pullback::client
