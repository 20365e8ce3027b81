// pullbackd: reads flags and environment, serves until SIGTERM or SIGINT, drains, ends.
#include <absl/synchronization/mutex.h>
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <thread>

#include "jit/baseline/baseline_backend.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/disk_cache.h"
#include "jit/llvm/device_compiler.h"
#include "jit/llvm/llvm_backend.h"
#include "server/library_logs.h"
#include "server/log.h"
#include "server/server.h"

namespace {

using pullback::server::ServerOptions;
namespace log = pullback::server::log;

struct Flags {
  ServerOptions server;
  std::string log_level = "info";
  std::string log_format = "text";
  bool log_requests = false;
};

// "--grpc-port" -> "PULLBACK_GRPC_PORT"
std::string EnvironmentTwin(const std::string& flag) {
  std::string name = "PULLBACK_";
  for (char c : flag.substr(2)) name += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

template <typename T>
CLI::Option* Add(CLI::App* app, const std::string& flag, T* value, const std::string& help) {
  return app->add_option(flag, *value, help)->envname(EnvironmentTwin(flag))->capture_default_str();
}

CLI::Validator InRange(double least, double most) {
  return CLI::Range(least, most).description("");
}

template <typename T>
void AddCount(CLI::App* app, const std::string& flag, T* value, double least, double most,
              const std::string& help) {
  Add(app, flag, value, help)->check(InRange(least, most))->type_name("COUNT");
}

template <typename T>
void AddBytes(CLI::App* app, const std::string& flag, T* value, double most,
              const std::string& help) {
  Add(app, flag, value, help)
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false).description(""))
      ->check(InRange(1, most))
      ->type_name("BYTES");
}

void AddSeconds(CLI::App* app, const std::string& flag, double* value, const std::string& help) {
  static const std::map<std::string, double> kUnits = {
      {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  Add(app, flag, value, help)
      ->transform(CLI::AsNumberWithUnit(kUnits).description(""))
      ->check(InRange(0, 1e8))
      ->type_name("TIME");
}

void AddServing(CLI::App* app, Flags* flags) {
  ServerOptions& o = flags->server;
  Add(app, "--host", &o.host, "Address to listen on");
  Add(app, "--grpc-port", &o.grpc_port, "Port of gRPC; 0 picks a free one and logs it")
      ->check(InRange(0, 65535))
      ->type_name("PORT");
  Add(app, "--http-host", &o.http_host, "Address of the HTTP port");
  Add(app, "--http-port", &o.http_port,
      "Port of /metrics, /healthz and /readyz; 0 picks a free one; without it there is none")
      ->check(InRange(0, 65535))
      ->type_name("PORT")
      ->default_str("none");
  AddCount(app, "--threads", &o.threads, 0, 1024, "Threads that run kernels; 0: one per core");
  AddCount(app, "--compile-threads", &o.compile_threads, 0, 1024,
           "Threads that compile; 0: half of --threads");
  AddCount(app, "--queue", &o.queue, 1, 1e6, "Requests that may wait for either kind of thread");
  AddBytes(app, "--queue-bytes", &o.queue_bytes, 1e15, "Bytes of the requests that wait");
  AddCount(app, "--stream-window", &o.stream_window, 1, 1e4, "Items in flight in one stream");
  AddSeconds(app, "--drain-timeout", &o.drain_timeout,
             "How long running requests may take after SIGTERM");
  Add(app, "--log-level", &flags->log_level, "What is logged")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}));
  Add(app, "--log-format", &flags->log_format, "How it is logged")
      ->check(CLI::IsMember({"text", "json"}));
  app->add_flag("--log-requests", flags->log_requests,
                "A line for every answered request at level info, not only at debug")
      ->envname(EnvironmentTwin("--log-requests"));
}

void AddSecurity(CLI::App* app, ServerOptions* o) {
  const auto file = [&](const char* flag, std::string* value, const char* help) {
    Add(app, flag, value, help)->type_name("FILE")->default_str("none");
  };
  file("--tls-cert", &o->tls_cert, "Certificate and its chain (PEM): gRPC speaks TLS");
  file("--tls-key", &o->tls_key, "Key of the certificate (PEM)");
  file("--tls-client-ca", &o->tls_client_ca,
       "Clients need a certificate by one of these authorities (PEM)");
  file("--token-file", &o->token_file, "Clients need one of these bearer tokens, one a line");
}

void AddRequestLimits(CLI::App* app, ServerOptions* o) {
  AddBytes(app, "--max-message-bytes", &o->max_message_bytes, 2147483647.0, "A request's size");
  AddBytes(app, "--memory-budget", &o->memory_budget, 1e15, "Bytes that one run may hold at once");
  AddCount(app, "--max-depth", &o->max_depth, 1, 1e9, "Calls that may be active in one run");
  AddSeconds(app, "--default-deadline", &o->default_deadline,
             "For requests without a deadline; 0: none");
  AddSeconds(app, "--max-deadline", &o->max_deadline, "The most that a request gets; 0: no bound");
}

void AddProgramLimits(CLI::App* app, pullback::jit::EngineOptions* o) {
  auto& limits = o->limits;
  AddBytes(app, "--max-source-bytes", &limits.max_source_bytes, 1e9, "A program's text");
  AddCount(app, "--max-nesting", &limits.max_nesting, 1, 1000,
           "Brackets, blocks and types in each other");
  AddCount(app, "--max-chain", &limits.max_chain, 1, 4000, "Operators in a row without brackets");
  AddCount(app, "--max-rank", &limits.max_rank, 0, 8, "Axes of an array");
  AddCount(app, "--max-tuple", &limits.max_tuple, 1, 1e4, "Elements of a tuple, with those inside");
  AddCount(app, "--max-type-nodes", &limits.max_type_nodes, 1, 1e6,
           "Types that a type is made of, with those in lists and boxes");
  AddCount(app, "--max-params", &limits.max_params, 1, 1e4, "Parameters of a function");
  AddCount(app, "--max-array-literal", &limits.max_array_literal, 1, 1e8,
           "Elements of an array literal");
  AddCount(app, "--max-ir-insts", &limits.max_ir_insts, 1, 1e8, "Instructions of a program's IR");
  AddBytes(app, "--cache-bytes", &o->cache_bytes, 1e15, "Compiled code that is kept");
}

void AddDiskCache(CLI::App* app, ServerOptions* o) {
  Add(app, "--cache-dir", &o->cache_dir,
      "Folder for compiled code that outlives the server; none where it is empty")
      ->type_name("DIR");
  AddBytes(app, "--disk-cache-bytes", &o->disk_cache_bytes, 1e15, "Compiled code in that folder");
}

// SIGTERM and SIGINT arrive through a pipe. (Blocking them for sigwait would not do: libraries have made
// threads before main, which do not block them.)
int signal_pipe[2];

extern "C" void OnSignal(int) {
  const char byte = 0;
  const int saved = errno;
  while (write(signal_pipe[1], &byte, 1) < 0 && errno == EINTR) {
  }
  errno = saved;
}

void CatchSignals() {
  PB_CHECK(pipe2(signal_pipe, O_CLOEXEC) == 0);
  struct sigaction action = {};
  action.sa_handler = &OnSignal;
  action.sa_flags = SA_RESTART;
  PB_CHECK(sigaction(SIGTERM, &action, nullptr) == 0);
  PB_CHECK(sigaction(SIGINT, &action, nullptr) == 0);
}

void WaitForSignal() {
  char byte;
  while (read(signal_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
}

int Fail(const pullback::Status& status) {
  log::Write(log::Level::kError, "cannot start",
             {{"reason", status.reason()}, {"detail", status.message()}});
  return 1;
}

int Serve(ServerOptions options) {
  CatchSignals();
  if (!options.cache_dir.empty()) {
    auto disk = pullback::jit::DiskCache::Open(options.cache_dir, options.disk_cache_bytes);
    if (!disk.ok()) return Fail(disk.status());
    options.engine.disk = *std::move(disk);
  }
  auto llvm = pullback::jit::MakeLlvmBackend();
  if (!llvm.ok()) return Fail(llvm.status());
  auto baseline = pullback::jit::MakeBaselineBackend();
  if (!baseline.ok()) return Fail(baseline.status());
  auto device_compiler = pullback::jit::MakeDeviceCompiler();
  if (!device_compiler.ok()) return Fail(device_compiler.status());
  options.engine.device = pullback::jit::MakeCudaBackend(*std::move(device_compiler));
  const std::string target = (*llvm)->target();
  auto server = pullback::server::Server::Start(options, *llvm, *baseline);
  if (!server.ok()) return Fail(server.status());
  log::Write(log::Level::kInfo, "listening",
             {{"address", (*server)->address()},
              {"http_address", (*server)->http_address()},
              {"version", options.version},
              {"target", target}});
  WaitForSignal();
  log::Write(log::Level::kInfo, "draining");
  std::thread([] {
    WaitForSignal();
    std::_Exit(1);
  }).detach();
  const bool all = (*server)->Drain();
  log::Write(all ? log::Level::kInfo : log::Level::kWarn, "stopped",
             {{"cancelled", all ? "none" : "what ran longer than --drain-timeout"}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Pullback: a gradient server. Every flag has an environment twin; the flag wins.",
               "pullbackd");
  Flags flags;
  flags.server.version = PULLBACK_VERSION;
  app.set_version_flag("--version", "pullbackd " PULLBACK_VERSION);
  AddServing(&app, &flags);
  AddSecurity(&app, &flags.server);
  AddRequestLimits(&app, &flags.server);
  AddProgramLimits(&app, &flags.server.engine);
  AddDiskCache(&app, &flags.server);
  CLI11_PARSE(app, argc, argv);
  log::Configure(flags.log_level, flags.log_format, flags.log_requests);
  pullback::server::RouteLibraryLogs();
  // Debian's Abseil looks for lock cycles at every lock that gRPC takes.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return Serve(flags.server);
}
