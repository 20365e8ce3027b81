// The echo of echo_service.h as a process, for bench_service and pullback load --echo.
//
//   bench_echo_server [reply in hex]     prints its port, serves until it is killed
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdio>
#include <string>

#include "tests/bench/echo_service.h"

namespace {

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) return std::fprintf(stderr, "usage: bench_echo_server [reply in hex]\n"), 2;
  pullback::bench::Echo echo(argc == 2 ? FromHex(argv[1]) : "");
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);  // as pullbackd
  const auto server = builder.BuildAndStart();
  std::printf("listening address=127.0.0.1:%d\n", port);
  std::fflush(stdout);
  server->Wait();
}
