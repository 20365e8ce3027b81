// One connection to a server, with requests in flight in numbered slots. Bytes only: what the server says is
// not parsed beyond whether it went well, so that a measure has little of the client in it.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "client/load/load.h"
#include "core/base/status.h"

namespace pullback::load {

// Headers of every call; none for what is empty.
struct Headers {
  std::string program_hash;   // x-pullback-program-hash
  std::string authorization;  // "Bearer TOKEN"

  void AddTo(grpc::ClientContext* context) const;
};

struct WireOptions {
  Headers headers;
  std::chrono::nanoseconds timeout;  // of one request
  int slots = 1;
};

// One thread may Start while another waits in Next.
class Wire {
 public:
  struct Answer {
    int slot;
    Status status;
  };

  virtual ~Wire() = default;
  // Sends a serialised EvaluateRequest. The slot is taken until Next gives its answer.
  virtual void Start(int slot, const grpc::ByteBuffer& request) = 0;
  // The next answer; none when there is none within `patience`.
  virtual std::optional<Answer> Next(std::chrono::milliseconds patience) = 0;
  // Ends what is in flight with CANCELLED.
  virtual void Cancel() = 0;
};

// Waits until nothing of a queue is left. What is in flight must have been cancelled or have ended.
void Drain(grpc::CompletionQueue* queue);

std::unique_ptr<Wire> MakeUnaryWire(std::shared_ptr<grpc::Channel> channel,
                                    const WireOptions& options);
// All over one stream, opened again when it ends.
std::unique_ptr<Wire> MakeStreamWire(std::shared_ptr<grpc::Channel> channel,
                                     const WireOptions& options);

}  // namespace pullback::load
