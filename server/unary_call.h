// One unary call: a reactor towards gRPC and a job towards the pools. The reaction answers a small evaluation that is
// expected to be short (short_runs.h) and hands everything else to a pool; parsing, work and writing the answer then
// happen on a compute thread.
#pragma once

#include <google/protobuf/arena.h>
#include <grpcpp/support/server_callback.h>

#include <optional>
#include <type_traits>
#include <utility>

#include "server/errors.h"
#include "server/handlers.h"
#include "server/lanes.h"
#include "server/message.h"

namespace pullback::server {

// Whether the message has to go on to the compile pool.
template <typename In>
bool WantsCompiler(const In&) {
  return false;
}
inline bool WantsCompiler(const v1::EvaluateRequest& in) { return in.has_spec(); }

constexpr size_t kFirstBlock = 2048;

// Owns itself: deleted by OnDone, after Finish.
template <typename In, typename Out>
class UnaryCall final : public grpc::ServerUnaryReactor, public Job {
 public:
  using Handler = Status (Handlers::*)(Request&, const In&, Out*);

  // in, out: gRPC's, alive until OnDone.
  UnaryCall(Lanes* lanes, Handlers* handlers, Handler handler, Request request,
            const grpc::ByteBuffer* in, grpc::ByteBuffer* out)
      : lanes_(lanes),
        handlers_(handlers),
        handler_(handler),
        request_(std::move(request)),
        in_bytes_(in),
        out_bytes_(out),
        arena_(first_block_, sizeof first_block_),
        in_(google::protobuf::Arena::CreateMessage<In>(&arena_)),
        out_(google::protobuf::Arena::CreateMessage<Out>(&arena_)),
        entered_(lanes->gate.Enter()) {
    request_.bytes = in->Length();
  }

  // The last thing its maker does with it. admitted: whether its sender may ask at all.
  void Start(Pool* pool, const Status& admitted) {
    if (!entered_) return Answer(Draining());
    if (!admitted.ok()) return Answer(admitted);
    if (const std::optional<Status> status = TryHere(pool)) return Answer(*status);
    SubmitTo(parsed_ && WantsCompiler(*in_) ? &lanes_->compile : pool);
  }

  void Run() override {
    Status status = CheckLive(request_);
    if (status.ok() && !parsed_) {
      status = Parse();
      if (status.ok() && WantsCompiler(*in_)) return SubmitTo(&lanes_->compile);
    }
    if (status.ok())
      status = Guard([this] { return (handlers_->*handler_)(request_, *in_, out_); });
    Answer(BlameDeadline(std::move(status), request_));
  }

  void OnCancel() override { request_.cancelled->store(true, std::memory_order_relaxed); }

  void OnDone() override {
    if (entered_) lanes_->gate.Leave();
    delete this;
  }

  // Its reactions are a store and a delete: gRPC need not wake an executor thread to run them, which
  // every call would pay for after its answer. (gRPC means this for its own reactors.)
  bool InternalInlineable() override { return true; }

 private:
  Status Parse() {
    parsed_ = true;
    const auto begin = Clock::now();
    Status status =
        Guard([this] { return ParseMessage(*in_bytes_, in_) ? Status() : Malformed(); });
    request_.stages.convert += SecondsSince(begin);
    return status;
  }

  // Its status, where it is done on this thread of gRPC's.
  std::optional<Status> TryHere(Pool* pool) {
    if constexpr (std::is_same_v<In, v1::EvaluateRequest>) {
      if (!ShortRuns::WorthTrying(*pool, request_.bytes)) return {};
      const Pool::Guest guest(pool);
      Status parsed = Parse();
      if (!parsed.ok()) return parsed;
      return handlers_->TryEvaluate(request_, *in_, out_);
    }
    return {};
  }

  void SubmitTo(Pool* pool) {
    pool_ = pool;
    // Once submitted it may be gone.
    if (!pool->Submit(this, request_.bytes)) Answer(QueueFull());
  }

  void Answer(Status status) {
    if (status.ok()) {
      const auto begin = Clock::now();
      status = Guard([this] {
        *out_bytes_ = WriteMessage(*out_);
        return Status();
      });
      request_.stages.convert += SecondsSince(begin);
    }
    lanes_->metrics.Count(request_, status);
    LogAnswer(request_, status);
    Finish(
        ToGrpcStatus(status, request_, pool_ ? pool_->RetryDelay() : std::chrono::milliseconds(0)));
  }

  Lanes* const lanes_;
  Handlers* const handlers_;
  const Handler handler_;
  Request request_;
  const grpc::ByteBuffer* const in_bytes_;
  grpc::ByteBuffer* const out_bytes_;
  // Small messages fit into it, and need no other memory.
  alignas(8) char first_block_[kFirstBlock];
  google::protobuf::Arena arena_;
  In* const in_;
  Out* const out_;
  const bool entered_;
  bool parsed_ = false;
  Pool* pool_ = nullptr;
};

}  // namespace pullback::server
