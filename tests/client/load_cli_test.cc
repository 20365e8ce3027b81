// pullback load on the command line.
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <catch2/catch.hpp>

#include <cstdio>

#include "tests/bench/echo_service.h"
#include "tests/client/cli.h"
#include "tests/support/paths.h"

namespace pullback::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Words Load(const Words& more, const std::string& seconds = "0.3") {
  return Words{"load",       SourceFile("docs/examples/pow.pull"),
               "-e",         "pow",
               "-a",         "x=2",
               "-a",         "n=3",
               "--server",   ServerAddress(),
               "--duration", seconds,
               "--warmup",   "0.1"} +
         more;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int64_t CountOf(const json& buckets) {
  int64_t sum = 0;
  for (const json& bucket : buckets) sum += bucket[2].get<int64_t>();
  return sum;
}

TEST_CASE("load: a closed loop, for people") {
  const CliResult result = Cli(Load({"--concurrency", "4"}));
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  for (const char* part : {"closed loop, 4 in flight, 4 connections", "answers/s", "p50, us",
                           "p99.9, us", "max, us", "no errors", " us |#"}) {
    CHECK(Has(result.out, part));
  }
  CHECK(result.err.empty());  // no progress bar where there is no terminal
}

TEST_CASE("load: JSON adds up") {
  const CliResult result = Cli(Load({"--concurrency", "3", "--connections", "2", "--json", "-"}));
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const json report = result.json();
  CHECK(report["loop"] == "closed");
  CHECK(report["programs"] == "warm");
  CHECK(report["rpc"] == "Evaluate");
  CHECK(report["concurrency"] == 3);
  CHECK(report["connections"] == 2);
  CHECK(report["request_bytes"] > 64);
  const json& server = report["server"];
  CHECK(server["answers"] > 10);
  CHECK(server["failed"] == 0);
  CHECK(server["errors"] == json::object());
  CHECK(server["answers_per_second"].get<double>() ==
        Approx(server["answers"].get<double>() / 0.3).epsilon(1e-6));
  CHECK(CountOf(server["histogram_us"]) == server["answers"]);
  const json& us = server["latency_us"];
  const char* const order[] = {"p50", "p90", "p99", "p99_9", "max"};
  for (int i = 0; i + 1 < 5; ++i) CHECK(us[order[i]] <= us[order[i + 1]]);
}

TEST_CASE("load: an open loop, its report in a file") {
  const Scratch scratch;
  const std::string file = scratch.path("report.json");
  const CliResult result =
      Cli(Load({"--rate", "200", "--arrivals", "constant", "--stream", "--json", file}));
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(Has(result.out, "open loop, 200 requests/s, even arrivals"));
  CHECK(Has(result.out, "sent late by"));
  const json report = json::parse(ReadFile(file));
  CHECK(report["rpc"] == "EvaluateStream");
  CHECK(report["server"]["answers"] == 60);
  CHECK(report["server"]["send_delay_us"]["p50"] > 0);
  CHECK(report["server"]["peak_in_flight"] > 0);
}

TEST_CASE("load: programs that were never seen") {
  const Scratch scratch;
  const std::string file =
      scratch.Put("f.pull", "fn f(x: f64) -> f64 { return sin(x * DISTINCT.5) }");
  const Words load = {"load",
                      "-e",
                      "f",
                      "-a",
                      "x=1",
                      "--server",
                      ServerAddress(),
                      "--duration",
                      "0.3",
                      "--concurrency",
                      "2",
                      "--warmup",
                      "0",
                      "--json",
                      "-"};
  const auto misses = [] {
    return Cli({"info", "--server", ServerAddress(), "--json"})
        .json()["cache_misses"]
        .get<int64_t>();
  };
  const int64_t before = misses();
  const CliResult result = Cli(load + Words{file, "--distinct"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const json report = result.json();
  CHECK(report["programs"] == "distinct");
  const int64_t answers = report["server"]["answers"];
  CHECK(answers > 5);
  CHECK(misses() - before >= answers);  // every one was compiled
}

TEST_CASE("load: beside an echo") {
  bench::Echo echo("");
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  const auto server = builder.BuildAndStart();
  const Words beside = {"--echo", "127.0.0.1:" + std::to_string(port), "--rounds", "3"};
  for (const Words& more : {Words{}, Words{"--stream"}}) {
    const CliResult result = Cli(Load(beside + more + Words{"--json", "-", "--concurrency", "2"}));
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == 0);
    const json report = result.json();
    CHECK(report["ratios"]["rounds"] == 3);
    CHECK(report["ratios"]["answers_per_second"] > 0);
    CHECK(report["ratios"]["p50"] > 0);
    CHECK(report["echo"]["answers"] > 10);
    CHECK(report["echo"]["failed"] == 0);
    CHECK(CountOf(report["echo"]["histogram_us"]) == report["echo"]["answers"]);
  }
  const CliResult text = Cli(Load(beside));
  INFO(text.out << text.err);
  CHECK(text.exit_code == 0);
  CHECK(Has(text.out, "ratios are medians of 3 rounds"));
}

TEST_CASE("load: too many errors is exit code 1") {
  // Longer than the timeout, though the first run, without one, is well.
  const Words slow = {"load",
                      SourceFile("docs/examples/pow.pull"),
                      "-e",
                      "pow",
                      "-t",
                      "value",
                      "-a",
                      "x=1",
                      "-a",
                      "n=100000000",
                      "--server",
                      ServerAddress(),
                      "--duration",
                      "0.2",
                      "--warmup",
                      "0",
                      "--concurrency",
                      "1",
                      "--timeout",
                      "0.01"};
  const CliResult failed = Cli(slow);
  INFO(failed.out << failed.err);
  CHECK(failed.exit_code == 1);
  CHECK(Has(failed.out, "DEADLINE_EXCEEDED"));
  CHECK(Has(failed.err, "--max-errors is 0"));
  CHECK(Cli(slow + Words{"--max-errors", "1"}).exit_code == 0);
}

TEST_CASE("load: usage") {
  const Words wrong[] = {{"--rate", "10", "--concurrency", "2"},
                         {"--rate", "0"},
                         {"--rate", "-3"},
                         {"--concurrency", "0"},
                         {"--arrivals", "poisson"},
                         {"--rate", "9", "--arrivals", "x"},
                         {"--max-errors", "2"},
                         {"--timeout", "0"},
                         {"--connections", "0"},
                         {"--rounds", "3"},
                         {"--echo", ""},
                         {"--distinct"},
                         {"--json"}};
  for (const Words& more : wrong) {
    const CliResult result = Cli(Load(more));
    INFO(more[0] << result.err);
    CHECK(result.exit_code == 2);
    CHECK(!result.err.empty());
  }
  const Scratch scratch;
  const std::string comment =
      scratch.Put("c.pull", "# DISTINCT\nfn f(x: f64) -> f64 { return sin(x) }");
  const CliResult same =
      Cli({"load", comment, "-e", "f", "-a", "x=1", "--distinct", "--server", ServerAddress()});
  CHECK(same.exit_code == 2);
  CHECK(Has(same.err, "depends on"));
  const CliResult help = Cli({"load", "--help"});
  CHECK(help.exit_code == 0);
  CHECK(Has(help.out, "--max-in-flight"));
}

TEST_CASE("load: a fault of the program, of a run, and no server") {
  const Words load = {"load", "-e", "f", "--server", ServerAddress(), "--json", "-"};
  const Scratch scratch;
  const CliResult program =
      Cli(load + Words{scratch.Put("a.pull", "fn f(x: f64) -> f64 { return y }")});
  CHECK(program.exit_code == 3);
  CHECK(program.json()["error"]["diagnostics"][0]["line"] == 1);
  const CliResult run = Cli(
      load + Words{scratch.Put("b.pull", "fn f(x: [n]f64) -> f64 { return x[5] }"), "-a", "x=[1]"});
  CHECK(run.exit_code == 4);
  CHECK(run.json()["error"]["code"] == "OUT_OF_RANGE");
  const CliResult nobody =
      Cli({"load", SourceFile("docs/examples/pow.pull"), "-e", "pow", "--server", "127.0.0.1:1"});
  CHECK(nobody.exit_code == 5);
  const CliResult no_echo = Cli(Load({"--echo", "127.0.0.1:1", "--concurrency", "2"}));
  CHECK(no_echo.exit_code == 5);
  CHECK(no_echo.err.find("--echo: no server answers at 127.0.0.1:1") != std::string::npos);
  for (const char* flag : {"--rate", "--duration", "--warmup", "--timeout", "--max-errors"}) {
    const CliResult nan =
        Cli({"load", SourceFile("docs/examples/pow.pull"), "-e", "pow", flag, "nan"});
    CHECK(nan.exit_code == 2);
    CHECK(nan.err.find("nan is no number") != std::string::npos);
  }
}

TEST_CASE("load: a progress bar on a terminal") {
  std::string command = "script -qefc '" + testing::BinaryPath("pullback");
  for (const std::string& word : Load({"--concurrency", "2"}, "0.6")) command += " " + word;
  command += " 2>&1' /dev/null";
  std::FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  for (int c; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  pclose(pipe);
  INFO(out);
  CHECK(Has(out, "answers/s, 0 errors"));
  CHECK(Has(out, "[#"));
}

}  // namespace
}  // namespace pullback::test
