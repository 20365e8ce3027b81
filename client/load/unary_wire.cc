#include <grpcpp/generic/generic_stub.h>

#include <mutex>
#include <vector>

#include "client/errors.h"
#include "client/load/wire.h"

namespace pullback::load {
namespace {

const std::string kUnaryMethod = "/pullback.v1.GradientService/Evaluate";

class UnaryWire final : public Wire {
 public:
  UnaryWire(std::shared_ptr<grpc::Channel> channel, const WireOptions& options)
      : stub_(std::move(channel)), options_(options), calls_(static_cast<size_t>(options.slots)) {}

  ~UnaryWire() override {
    Cancel();
    Drain(&queue_);
  }

  void Start(int slot, const grpc::ByteBuffer& request) override {
    Call& call = calls_[static_cast<size_t>(slot)];
    {
      std::lock_guard lock(mutex_);
      call.context.emplace();
    }
    call.context->set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(options_.timeout));
    options_.headers.AddTo(&*call.context);
    call.response.Clear();
    call.reader = stub_.PrepareUnaryCall(&*call.context, kUnaryMethod, request, &queue_);
    call.reader->StartCall();
    call.reader->Finish(&call.response, &call.status, &call);
  }

  std::optional<Answer> Next(std::chrono::milliseconds patience) override {
    void* tag;
    bool ok;
    const auto until = std::chrono::system_clock::now() + patience;
    if (queue_.AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) return std::nullopt;
    Call& call = *static_cast<Call*>(tag);
    return Answer{static_cast<int>(&call - calls_.data()),
                  call.status.ok() ? Status() : client::FromGrpc(call.status)};
  }

  void Cancel() override {
    std::lock_guard lock(mutex_);
    for (Call& call : calls_) {
      if (call.context) call.context->TryCancel();
    }
  }

 private:
  struct Call {
    std::optional<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
    grpc::ByteBuffer response;
    grpc::Status status;
  };

  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  const WireOptions options_;
  std::mutex mutex_;  // a context that Cancel looks at is not being made
  std::vector<Call> calls_;
};

}  // namespace

std::unique_ptr<Wire> MakeUnaryWire(std::shared_ptr<grpc::Channel> channel,
                                    const WireOptions& options) {
  return std::make_unique<UnaryWire>(std::move(channel), options);
}

}  // namespace pullback::load
