// The HTTP port: /metrics, /healthz, /readyz.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "server/metrics.h"
#include "tests/server/exposition.h"
#include "tests/server/http_get.h"
#include "tests/server/process.h"
#include "tests/server/programs.h"

namespace pullback::test {
namespace {

Exposition Scrape(const ServerProcess& server) {
  const HttpAnswer answer = HttpGet(server.http_address(), "/metrics");
  CHECK(answer.code == 200);
  CHECK(answer.type == "text/plain; version=0.0.4; charset=utf-8");
  Exposition read = ReadExposition(answer.body);
  for (const std::string& fault : read.faults) FAIL_CHECK(fault);
  return read;
}

struct MetricsFolder {
  std::string path =
      (std::filesystem::temp_directory_path() / ("pullback-metrics-" + std::to_string(getpid())))
          .string();
  ~MetricsFolder() { std::filesystem::remove_all(path); }
};

TEST_CASE("metrics: the exposition keeps the rules, with every family of the documentation") {
  const MetricsFolder folder;
  ServerProcess server({"--http-port", "0", "--cache-dir", folder.path});
  const Exposition read = Scrape(server);
  for (const char* family : {"rpc_requests_total",
                             "rpc_duration_seconds",
                             "queue_duration_seconds",
                             "compile_duration_seconds",
                             "execute_duration_seconds",
                             "convert_duration_seconds",
                             "cache_requests_total",
                             "cache_bytes",
                             "cache_evictions_total",
                             "cache_failed_writes_total",
                             "kernels",
                             "tier_switches_total",
                             "budget_kills_total",
                             "requests_running",
                             "requests_queued",
                             "runs_total",
                             "overruns_total",
                             "build_info",
                             "process_resident_memory_bytes",
                             "process_cpu_seconds_total",
                             "process_open_fds"}) {
    INFO(family);
    CHECK(read.types.count(std::string("pullback_") + family) == 1);
  }
  CHECK(read.types.size() == 21);
  CHECK(read.values.at("pullback_process_resident_memory_bytes") > 1e6);
  CHECK(read.values.count(R"(pullback_cache_requests_total{tier="disk",result="hit"})") == 1);
}

TEST_CASE("metrics: the rules are not kept by text that breaks them") {
  for (const char* text :
       {"pullback_x 1\n", "# HELP pullback_x x\n# TYPE pullback_x counter\n",
        "# HELP other x\n# TYPE other gauge\nother 1\n",
        "# HELP pullback_x_ms x\n# TYPE pullback_x_ms gauge\n",
        "# HELP pullback_x x\n# TYPE pullback_x gauge\npullback_x 1\npullback_x 1\n",
        "# HELP pullback_x x\n# TYPE pullback_x gauge\npullback_x 1"}) {
    INFO(text);
    CHECK_FALSE(ReadExposition(text).faults.empty());
  }
}

TEST_CASE("metrics: counters move with requests, by method, code, stage and cache") {
  ServerProcess server({"--http-port", "0"});
  const Exposition before = Scrape(server);
  const auto client = server.Connect();
  for (int i = 0; i < 3; ++i) REQUIRE(client->Evaluate(PowGradient(), PowInputs(2, 3)).ok());
  CHECK_FALSE(client->Compile(Spec("fn f(", "f")).ok());
  client::CallOptions soon;
  soon.timeout = std::chrono::milliseconds(200);
  CHECK_FALSE(
      client->Evaluate(Spec(kSpin, "spin"), Args({client::Arg("x", Tensor::F64(1))}), soon).ok());
  client::Inputs little = Args({client::Arg("x", Tensor::F64(1))});
  little.max_depth = 10;
  CHECK_FALSE(client->Evaluate(Spec(kDive, "dive"), little).ok());
  auto stream = client->OpenStream();
  REQUIRE(stream->Send(1, PowGradient(), PowInputs(2, 3)));
  stream->CloseSend();
  REQUIRE(stream->Receive());
  // A spun-out run is counted when the server notices, which may be after the client has given up.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));

  const Exposition after = Scrape(server);
  const auto grown = [&](const std::string& name) {
    const auto first = before.values.find("pullback_" + name);
    INFO(name);
    REQUIRE(after.values.count("pullback_" + name) == 1);
    return after.values.at("pullback_" + name) - (first == before.values.end() ? 0 : first->second);
  };
  CHECK(grown(R"(rpc_requests_total{code="OK",method="Evaluate"})") == 3);
  CHECK(grown(R"(rpc_requests_total{code="OK",method="EvaluateStream"})") == 1);
  CHECK(grown(R"(rpc_requests_total{code="OK",method="Compile"})") == 3);
  CHECK(grown(R"(rpc_requests_total{code="INVALID_ARGUMENT",method="Compile"})") == 1);
  CHECK(grown(R"(rpc_duration_seconds_count{method="Evaluate"})") == 5);
  CHECK(grown(R"(rpc_duration_seconds_bucket{method="Evaluate",le="+Inf"})") == 5);
  CHECK(grown(R"(rpc_duration_seconds_bucket{method="Evaluate",le="0.1"})") == 4);
  CHECK(grown(R"(rpc_duration_seconds_sum{method="Evaluate"})") > 0.15);
  CHECK(grown("queue_duration_seconds_count") == 10);  // all but GetServerInfo, which never waits
  CHECK(grown("execute_duration_seconds_count") == 4);
  CHECK(grown("convert_duration_seconds_count") > 4);
  CHECK(grown(R"(compile_duration_seconds_count{stage="parse"})") == 3);
  CHECK(grown(R"(cache_requests_total{tier="memory",result="miss"})") >= 3);
  CHECK(grown(R"(cache_requests_total{tier="memory",result="hit"})") >= 3);
  CHECK(grown(R"(kernels{tier="memory"})") == 3);
  CHECK(grown(R"(cache_bytes{tier="memory"})") > 0);
  CHECK(grown(R"(budget_kills_total{budget="deadline"})") == 1);
  CHECK(grown(R"(budget_kills_total{budget="depth"})") == 1);
  CHECK(grown(R"(budget_kills_total{budget="memory"})") == 0);
}

TEST_CASE("http: healthz and readyz, other paths and methods") {
  ServerProcess server({"--http-port", "0"});
  CHECK(HttpGet(server.http_address(), "/healthz").body == "ok\n");
  CHECK(HttpGet(server.http_address(), "/readyz").code == 200);
  CHECK(HttpGet(server.http_address(), "/readyz", "HEAD").code == 200);
  CHECK(HttpGet(server.http_address(), "/readyz", "POST").code >= 400);
  CHECK(HttpGet(server.http_address(), "/").code == 404);
  CHECK(HttpGet(server.http_address(), "/metrics/more").code == 404);
  const Output second =
      RunPullbackd({"--grpc-port", "0", "--http-port",
                    server.http_address().substr(server.http_address().rfind(':') + 1)});
  CHECK(second.exit_code == 1);
  CHECK(second.text.find("CANNOT_LISTEN") != std::string::npos);
}

TEST_CASE("http: connections that say nothing keep nobody waiting") {
  ServerProcess server({"--http-port", "0"});
  const std::string& address = server.http_address();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  std::vector<int> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(silent.back(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }
  CHECK(HttpGet(address, "/readyz").code == 200);
  // None of them has been given up to make room.
  char byte = 0;
  for (int fd : silent) CHECK(recv(fd, &byte, 1, MSG_DONTWAIT) == -1);
  for (int fd : silent) close(fd);
}

TEST_CASE("http: a draining server is healthy, not ready") {
  ServerProcess server({"--http-port", "0"});
  const auto client = server.Connect();
  std::thread runs([&] {
    client::CallOptions call;
    call.timeout = std::chrono::milliseconds(3000);
    (void)client->Evaluate(Spec(kSpin, "spin"), Args({client::Arg("x", Tensor::F64(1))}), call);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  server.Signal(SIGTERM);
  HttpAnswer ready = HttpGet(server.http_address(), "/readyz");
  for (int i = 0; i < 100 && ready.code == 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ready = HttpGet(server.http_address(), "/readyz");
  }
  CHECK(ready.code == 503);
  CHECK(HttpGet(server.http_address(), "/healthz").code == 200);
  runs.join();
  CHECK(server.Wait() == 0);
}

}  // namespace
}  // namespace pullback::test
