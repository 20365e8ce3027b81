// Health and reflection, as any gRPC tool sees them.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <catch2/catch.hpp>

#include <csignal>
#include <set>
#include <thread>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tests/server/process.h"

namespace pullback::test {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

constexpr char kService[] = "pullback.v1.GradientService";

std::shared_ptr<grpc::Channel> Channel(const ServerProcess& server) {
  return grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials());
}

TEST_CASE("health: Check knows the server and the service") {
  auto stub = Health::NewStub(Channel(SharedServer()));
  for (const char* service : {"", kService}) {
    HealthCheckRequest request;
    HealthCheckResponse response;
    request.set_service(service);
    grpc::ClientContext context;
    REQUIRE(stub->Check(&context, request, &response).ok());
    CHECK(response.status() == HealthCheckResponse::SERVING);
  }
  HealthCheckRequest request;
  HealthCheckResponse response;
  request.set_service("tea");
  grpc::ClientContext context;
  CHECK(stub->Check(&context, request, &response).error_code() == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("health: Watch tells when the server drains, and does not keep it up") {
  ServerProcess server;
  auto stub = Health::NewStub(Channel(server));
  HealthCheckRequest request;
  request.set_service(kService);
  grpc::ClientContext context;
  auto watch = stub->Watch(&context, request);
  HealthCheckResponse response;
  REQUIRE(watch->Read(&response));
  CHECK(response.status() == HealthCheckResponse::SERVING);
  server.Signal(SIGTERM);
  REQUIRE(watch->Read(&response));
  CHECK(response.status() == HealthCheckResponse::NOT_SERVING);
  CHECK(server.Wait(std::chrono::seconds(10)) == 0);
}

template <typename Service>
std::vector<ServerReflectionResponse> Ask(const std::vector<ServerReflectionRequest>& questions) {
  auto stub = Service::NewStub(Channel(SharedServer()));
  grpc::ClientContext context;
  auto stream = stub->ServerReflectionInfo(&context);
  std::vector<ServerReflectionResponse> answers;
  for (const ServerReflectionRequest& question : questions) {
    REQUIRE(stream->Write(question));
    REQUIRE(stream->Read(&answers.emplace_back()));
  }
  stream->WritesDone();
  CHECK(stream->Finish().ok());
  return answers;
}

template <typename Service>
void CheckReflection() {
  std::vector<ServerReflectionRequest> questions(4);
  questions[0].set_list_services("*");
  questions[1].set_file_containing_symbol("pullback.v1.GradientService.Evaluate");
  questions[2].set_file_by_filename("grpc/health/v1/health.proto");
  questions[3].set_file_containing_symbol("no.such.Thing");
  const auto answers = Ask<Service>(questions);

  std::set<std::string> services;
  for (const auto& service : answers[0].list_services_response().service()) {
    services.insert(service.name());
  }
  CHECK(services == std::set<std::string>{kService, "grpc.health.v1.Health",
                                          "grpc.reflection.v1.ServerReflection",
                                          "grpc.reflection.v1alpha.ServerReflection"});

  // What came is enough to build the descriptors from nothing.
  google::protobuf::DescriptorPool pool;
  const auto& files = answers[1].file_descriptor_response().file_descriptor_proto();
  for (int i = files.size() - 1; i >= 0; --i) {
    google::protobuf::FileDescriptorProto file;
    REQUIRE(file.ParseFromString(files[i]));
    pool.BuildFile(file);
  }
  const auto* service = pool.FindServiceByName(kService);
  REQUIRE(service != nullptr);
  CHECK(service->FindMethodByName("EvaluateStream") != nullptr);

  CHECK(answers[2].file_descriptor_response().file_descriptor_proto_size() == 1);
  CHECK(answers[3].error_response().error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(answers[3].original_request().file_containing_symbol() == "no.such.Thing");
}

TEST_CASE("reflection v1") { CheckReflection<grpc::reflection::v1::ServerReflection>(); }
TEST_CASE("reflection v1alpha") { CheckReflection<grpc::reflection::v1alpha::ServerReflection>(); }

}  // namespace
}  // namespace pullback::test
