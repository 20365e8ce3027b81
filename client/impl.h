// What the client and its streams share; not for users.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "client/client.h"
#include "pullback/v1/service.grpc.pb.h"

namespace pullback::client {

// Kernels by spec, so that a program's text travels once. Thread-safe; forgets everything when full.
class KnownKernels {
 public:
  std::shared_ptr<const Compiled> Find(const std::string& key);
  void Put(const std::string& key, Compiled kernel);
  void Forget(const std::string& key);

 private:
  static constexpr size_t kMaxKernels = 4096;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Compiled>> kernels_;
};

// Equal for equal specs: a hash of the serialised message.
std::string KeyOf(const KernelSpec& spec);

// Of ConnectOptions, once its files are read.
struct Secrets {
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::string authorization;  // header; empty: none
};
StatusOr<Secrets> ReadSecrets(const Security& security);

struct Client::Impl {
  std::string authorization;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::GradientService::Stub> stub;
  KnownKernels kernels;

  // Deadline, token, request id and the balancer's header (left out where the hash is empty).
  void Prepare(const CallOptions& call, const std::string& program_hash,
               grpc::ClientContext* context) const;
  // Of the program, for balancers; the server is asked for that of messages.
  StatusOr<std::string> HashOf(const KernelSpec& spec, const CallOptions& call) const;
  // By the text, whose names and places answers and errors then have.
  StatusOr<Evaluation> EvaluateText(const KernelSpec& spec, const Inputs& inputs,
                                    const CallOptions& call);
  Status Evaluate(const v1::EvaluateRequest& request, const std::string& program_hash,
                  const CallOptions& call, v1::EvaluateResponse* response);
};

struct EvaluateStream::Impl {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::EvaluateStreamRequest, v1::EvaluateStreamResponse>>
      stream;
  bool Send(uint64_t id, const std::optional<std::chrono::milliseconds>& timeout,
            v1::EvaluateStreamRequest* request);

  std::mutex mutex;                       // guards what follows
  std::map<uint64_t, Signature> renames;  // of items sent by kernel_id, by id
  bool closed = false;                    // CloseSend was called
  bool finished = false;
};

}  // namespace pullback::client
