// The bare gRPC echo that pullbackd is measured against: callback API, answers every Evaluate and every item of
// an EvaluateStream in the reaction with the same bytes, which it neither parses nor makes. The request of a
// Compile, whatever it is, becomes the reply from then on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pullback/v1/service.grpc.pb.h"

namespace pullback::bench {

namespace echo {
using WithStream =
    v1::GradientService::WithRawCallbackMethod_EvaluateStream<v1::GradientService::Service>;
using WithEvaluate = v1::GradientService::WithRawCallbackMethod_Evaluate<WithStream>;
using WithCompile = v1::GradientService::WithRawCallbackMethod_Compile<WithEvaluate>;
}  // namespace echo

// Items begin with their id, a varint field of one or two bytes after the tag; answers too, and then have
// the reply as field 2.
class StreamEcho final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit StreamEcho(grpc::ByteBuffer reply) : reply_(std::move(reply)) { StartRead(&item_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    answer_ = Answer();
    StartWrite(&answer_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    StartRead(&item_);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer Answer() const {
    std::vector<grpc::Slice> slices;
    static_cast<void>(item_.Dump(&slices));
    // The tag, and the id up to its last byte; they may lie in several slices.
    std::string head;
    const auto ended = [&] { return head.size() > 1 && (head.back() & 0x80) == 0; };
    for (const grpc::Slice& slice : slices) {
      for (size_t i = 0; i < slice.size() && !ended(); ++i) {
        head += static_cast<char>(slice.begin()[i]);
      }
    }
    head += static_cast<char>(2 << 3 | 2);
    size_t length = reply_.Length();
    for (; length >= 0x80; length >>= 7) head += static_cast<char>(length | 0x80);
    head += static_cast<char>(length);
    static_cast<void>(reply_.Dump(&slices));
    slices.insert(slices.begin(), grpc::Slice(head));
    return {slices.data(), slices.size()};
  }

  const grpc::ByteBuffer reply_;
  grpc::ByteBuffer item_, answer_;
};

class Echo final : public echo::WithCompile {
 public:
  explicit Echo(const std::string& reply) {
    const grpc::Slice slice(reply);
    reply_ = grpc::ByteBuffer(&slice, 1);
  }

  grpc::ServerUnaryReactor* Evaluate(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                     grpc::ByteBuffer* response) override {
    *response = reply_;
    return Done(context);
  }
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* EvaluateStream(
      grpc::CallbackServerContext*) override {
    return new StreamEcho(reply_);
  }
  grpc::ServerUnaryReactor* Compile(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override {
    reply_ = *request;
    *response = grpc::ByteBuffer(nullptr, 0);
    return Done(context);
  }

 private:
  static grpc::ServerUnaryReactor* Done(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  // Written between measures only.
  grpc::ByteBuffer reply_;
};

}  // namespace pullback::bench
