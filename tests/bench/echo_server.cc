// The bare gRPC echo that service_bench measures pullbackd against: callback API, answers every Evaluate
// in the reaction with the same bytes, which it neither parses nor makes.
//
//   bench_echo_server <reply in hex>     prints its port, serves until it is killed
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdio>
#include <string>

#include "pullback/v1/service.grpc.pb.h"

namespace {

using pullback::v1::GradientService;

class Echo final
    : public GradientService::WithRawCallbackMethod_Evaluate<GradientService::Service> {
 public:
  explicit Echo(const std::string& reply) : slice_(reply), reply_(&slice_, 1) {}

  grpc::ServerUnaryReactor* Evaluate(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                     grpc::ByteBuffer* response) override {
    *response = reply_;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const grpc::Slice slice_;
  const grpc::ByteBuffer reply_;
};

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: bench_echo_server <reply in hex>\n"), 2;
  Echo echo(FromHex(argv[1]));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  const auto server = builder.BuildAndStart();
  std::printf("listening address=127.0.0.1:%d\n", port);
  std::fflush(stdout);
  server->Wait();
}
