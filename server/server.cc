#include "server/server.h"

#include <grpc/grpc.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "server/handlers.h"
#include "server/http.h"
#include "server/lanes.h"
#include "server/log.h"
#include "server/reflection.h"
#include "server/service.h"
#include "server/tls.h"
#include "server/tokens.h"

namespace pullback::server {
namespace {

constexpr char kHealthService[] = "grpc.health.v1.Health";
constexpr int kMaxConcurrentCalls = 1024;  // of one connection
// What is left after draining: health watchers, reflection, runs that are over time.
constexpr std::chrono::seconds kLastCalls{1};

// IPv6 addresses stand in brackets before a port.
std::string HostAndPort(const std::string& host, int port) {
  const bool bare_v6 = host.find(':') != std::string::npos && host[0] != '[';
  return (bare_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// The first compile of a process takes milliseconds longer; and a broken back end shows here.
void WarmUp(jit::Engine* engine) {
  jit::KernelRequest request;
  request.program = "fn warm_up(x: f64) -> f64 { return x * x }";
  request.entry = "warm_up";
  request.transform = jit::Transform::kValueAndGrad;
  const auto handle = engine->Compile(request);
  if (handle.ok()) return;
  log::Write(log::Level::kError, "warm-up failed", {{"detail", handle.status().ToString()}});
}

void Configure(const ServerOptions& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder->SetMaxSendMessageSize(-1);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentCalls);
  // No answer is compressed: calls need not pass the filter that would do it. Nor may messages be: gRPC would look at
  // their size when it has unpacked them.
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder->SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  // Two servers on one port would share its connections unseen.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

ServerOptions Resolve(ServerOptions options) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (options.threads <= 0) options.threads = cores;
  if (options.compile_threads <= 0) options.compile_threads = std::max(1, options.threads / 2);
  options.engine.on_failed_promotion = [](const Status& status) {
    log::Write(log::Level::kWarn, "LLVM refused a kernel: it stays in tier 0",
               {{"reason", status.reason()}, {"detail", status.message()}});
  };
  return options;
}

// Members end in reverse order: HTTP, which reads all others, then gRPC, then the files that it reads, then the pools
// (by then empty), then the engine.
struct Server::Impl {
  Impl(const ServerOptions& given, std::unique_ptr<Tokens> known,
       std::shared_ptr<jit::Backend> llvm, std::shared_ptr<jit::Backend> baseline)
      : options(given),
        engine(std::make_shared<jit::Engine>(options.engine, std::move(llvm), std::move(baseline))),
        handlers(engine, options),
        lanes(options),
        tokens(std::move(known)),
        service(&lanes, &handlers, options, tokens.get()),
        reflection(
            MakeReflectionServices({v1::GradientService::service_full_name(), kHealthService})) {}

  const ServerOptions options;
  const std::shared_ptr<jit::Engine> engine;
  Handlers handlers;
  Lanes lanes;
  const std::unique_ptr<Tokens> tokens;
  Service service;
  const std::vector<std::unique_ptr<grpc::Service>> reflection;
  std::unique_ptr<Tls> tls;  // null: gRPC speaks plain text
  std::unique_ptr<grpc::Server> grpc;
  std::string address;
  std::string http_address;
  std::atomic<bool> ready{false};
  std::unique_ptr<HttpServer> http;  // null: no port was asked for

  LoadSample Load() const;
  Status StartHttp();
};

LoadSample Server::Impl::Load() const {
  LoadSample load = handlers.Load();
  load.run = {lanes.run.running(), lanes.run.queued()};
  load.compile = {lanes.compile.running(), lanes.compile.queued()};
  return load;
}

Status Server::Impl::StartHttp() {
  if (options.http_port < 0) return {};
  HttpServer::Pages pages;
  pages["/metrics"] = [this] { return HttpPage{200, lanes.metrics.Render()}; };
  pages["/healthz"] = [] { return HttpPage{200, "ok\n"}; };
  pages["/readyz"] = [this] {
    return ready ? HttpPage{200, "ready\n"} : HttpPage{503, "not ready\n"};
  };
  lanes.metrics.SetSource(options.version, [this] { return Load(); });
  PB_ASSIGN_OR_RETURN(http, HttpServer::Start(options.http_host, options.http_port, pages));
  http_address = HostAndPort(options.http_host, http->port());
  return {};
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { impl_->grpc->Shutdown(std::chrono::system_clock::now()); }

StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                std::shared_ptr<jit::Backend> llvm,
                                                std::shared_ptr<jit::Backend> baseline) {
  PB_ASSIGN_OR_RETURN(std::unique_ptr<Tls> tls, Tls::Open(options));
  std::unique_ptr<Tokens> tokens;
  if (!options.token_file.empty()) {
    PB_ASSIGN_OR_RETURN(tokens, Tokens::Open(options.token_file));
  }
  auto impl = std::make_unique<Impl>(Resolve(options), std::move(tokens), std::move(llvm),
                                     std::move(baseline));
  PB_RETURN_IF_ERROR(impl->StartHttp());
  WarmUp(impl->engine.get());
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  Configure(options, &builder);
  int port = 0;
  const std::string wanted = HostAndPort(options.host, options.grpc_port);
  builder.AddListeningPort(wanted, tls ? tls->Credentials() : grpc::InsecureServerCredentials(),
                           &port);
  impl->tls = std::move(tls);
  builder.RegisterService(&impl->service);
  for (const auto& service : impl->reflection) builder.RegisterService(service.get());
  impl->grpc = builder.BuildAndStart();
  if (impl->grpc == nullptr) {
    return Status(Code::kFailedPrecondition, "CANNOT_LISTEN", "cannot listen on " + wanted);
  }
  impl->grpc->GetHealthCheckService()->SetServingStatus(v1::GradientService::service_full_name(),
                                                        true);
  impl->address = HostAndPort(options.host, port);
  impl->ready = true;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::address() const { return impl_->address; }
const std::string& Server::http_address() const { return impl_->http_address; }

bool Server::Drain() {
  impl_->ready = false;
  impl_->grpc->GetHealthCheckService()->Shutdown();
  const bool all = impl_->service.Drain();
  impl_->grpc->Shutdown(std::chrono::system_clock::now() + kLastCalls);
  return all;
}

}  // namespace pullback::server
