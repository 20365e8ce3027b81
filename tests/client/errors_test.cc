// Every kind of failure: what is said, and the exit code.
#include <catch2/catch.hpp>

#include "tests/client/cli.h"

namespace pullback::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr char kPrograms[] = R"(fn at(x: [n]f64, i: i64) -> f64 {
  return x[i]
}
fn pair(x: [n]f64, y: [n]f64) -> f64 { return x @ y }
fn divide(a: i64, b: i64) -> i64 { return a / b }
fn spin(x: f64) -> f64 {
  var k = x
  while k > 0.0 { k = k + 1.0 }
  return k
}
fn dive(x: f64) -> f64 { return x * dive(x + 1.0) }
fn big(n: i64) -> f64 {
  let z = zeros(n)
  return z[0]
}
)";

struct Failure {
  Words words;
  int exit_code;
  std::string code, reason, said;  // said: on standard error
};

void Check(const Failure& failure, const Words& place) {
  Words words = {"eval", "-", "--json", "-e"};
  words.insert(words.end(), failure.words.begin(), failure.words.end());
  words.insert(words.end(), place.begin(), place.end());
  const CliResult result = Cli(words, kPrograms);
  INFO(failure.words[0] << ": " << result.err << result.out);
  CHECK(result.exit_code == failure.exit_code);
  CHECK(result.err.find(failure.said) != std::string::npos);
  const json error = result.json()["error"];
  CHECK(error["code"] == failure.code);
  CHECK(error["reason"] == failure.reason);
  CHECK(error["message"].is_string());
  CHECK(error["diagnostics"].is_array());
}

TEST_CASE("each kind of failure has its exit code, here and through a server") {
  const std::vector<Failure> failures = {
      {{"nope"}, 3, "NOT_FOUND", "ENTRY_NOT_FOUND", "it has: at"},
      {{"at", "-a", "x=[1]"}, 3, "INVALID_ARGUMENT", "MISSING_ARGUMENT", "'i' is missing"},
      {{"divide", "-a", "a=1", "-a", "b=1", "-a", "c=1"},
       3,
       "INVALID_ARGUMENT",
       "UNKNOWN_ARGUMENT",
       "no argument 'c'; there are: a, b"},
      {{"pair", "-a", "x=[1]", "-a", "y=[1, 2]"},
       3,
       "INVALID_ARGUMENT",
       "SIZE_MISMATCH",
       "argument 'y' axis 0"},
      {{"spin", "-a", "x=1", "--wrt", "z", "-t", "vjp"},
       3,
       "INVALID_ARGUMENT",
       "UNKNOWN_ARGUMENT",
       "'z'"},
      {{"at", "-a", "x=[1, 2]", "-a", "i=2"},
       4,
       "OUT_OF_RANGE",
       "INDEX_OUT_OF_RANGE",
       "-:2:10: error: "},
      {{"divide", "-a", "a=1", "-a", "b=0"}, 4, "FAILED_PRECONDITION", "DIVISION_BY_ZERO", "^"},
      {{"spin", "-a", "x=1", "--deadline", "0.3"},
       4,
       "DEADLINE_EXCEEDED",
       "DEADLINE_EXCEEDED",
       "deadline"},
      {{"dive", "-a", "x=1"}, 4, "RESOURCE_EXHAUSTED", "RECURSION_LIMIT", "recursion"},
      {{"big", "-a", "n=1000000", "--memory", "1000000"},
       4,
       "RESOURCE_EXHAUSTED",
       "MEMORY_BUDGET",
       "memory"},
  };
  for (const Failure& failure : failures) {
    Check(failure, {"--local"});
    Check(failure, {"--server", ServerAddress()});
  }
}

TEST_CASE("the memory and depth that are given suffice or do not") {
  const auto run = [](const Words& more) {
    Words words = {"eval", "-", "-e", "big", "-a", "n=1000", "--local"};
    words.insert(words.end(), more.begin(), more.end());
    return Cli(words, kPrograms).exit_code;
  };
  CHECK(run({"--memory", "1mb"}) == 0);
  CHECK(run({"--memory", "1000"}) == 4);
  CHECK(run({"--memory", "0"}) == 2);
}

TEST_CASE("an error without --json leaves standard output empty and shows the line") {
  const CliResult result =
      Cli({"eval", "-", "-e", "at", "-a", "x=[1]", "-a", "i=-1", "--local"}, kPrograms);
  CHECK(result.out.empty());
  CHECK(result.err.find("  return x[i]\n         ^^^^\n") != std::string::npos);
}

TEST_CASE("a program with mistakes") {
  const std::string program = "fn f(x: f64) -> f64 {\n  let a = x + nope\n  return 1 + true\n}\n";
  const CliResult result = Cli({"eval", "-", "-e", "f", "--local", "--json"}, program);
  CHECK(result.exit_code == 3);
  const json diagnostics = result.json()["error"]["diagnostics"];
  REQUIRE(diagnostics.size() == 2);
  CHECK(diagnostics[0]["line"] == 2);
  CHECK(diagnostics[0]["column"] == 15);
  CHECK(diagnostics[0]["severity"] == "error");
  CHECK(diagnostics[1]["line"] == 3);
}

TEST_CASE("a derivative of what has none") {
  const CliResult result =
      Cli({"eval", "-", "-e", "f", "-t", "value_and_grad", "-a", "x=[1]", "--local", "--json"},
          "fn f(x: [n]f64) -> [n]f64 { return x }\n");
  CHECK(result.exit_code == 3);
  CHECK(result.json()["error"]["reason"] == "NOT_SCALAR");
}

TEST_CASE("what is not implemented says so") {
  const CliResult result = Cli({"check", "-", "--json"}, "relations r\n");
  CHECK(result.exit_code == 3);
  CHECK(result.json()["error"]["code"] == "UNIMPLEMENTED");
}

TEST_CASE("usage errors") {
  const auto code = [](const Words& words) { return Cli(words, kPrograms).exit_code; };
  CHECK(code({}) == 2);
  CHECK(code({"nope"}) == 2);
  CHECK(code({"eval", "-"}) == 2);
  CHECK(code({"eval", "-", "-e", "at", "-t", "nope"}) == 2);
  CHECK(code({"eval", "-", "-e", "at", "--local", "--server", "x:1"}) == 2);
  CHECK(code({"eval", "-", "-e", "at", "-a", "x", "--local"}) == 2);
  CHECK(code({"eval", "-", "-e", "at", "-a", "x=[1,", "--local"}) == 2);
  CHECK(code({"eval", "-", "-e", "at", "-a", R"(x={"shape": [], "shape": []})", "--local"}) == 2);
  CHECK(code({"eval", "-", "-e", "at", "-a", "x=" + std::string(1000, '['), "--local"}) == 2);
  CHECK(code({"eval", "-", "-e", "big", "-a", "n=1", "--seed", "1", "--local"}) == 2);
  CHECK(code({"eval", "-", "-e", "at", "--args", "/nowhere.json", "--local"}) == 2);
  CHECK(code({"eval", "/nowhere.pull", "-e", "f", "--local"}) == 2);
  CHECK(code({"--help"}) == 0);
  CHECK(code({"eval", "--help"}) == 0);
}

TEST_CASE("an unknown file is named") {
  const CliResult result = Cli({"check", "/nowhere/p.pull"});
  CHECK(result.exit_code == 2);
  CHECK(result.err == "pullback: cannot read /nowhere/p.pull: No such file or directory\n");
}

TEST_CASE("nobody listens") {
  const CliResult result =
      Cli({"eval", "-", "-e", "at", "--server", "127.0.0.1:1", "--json"}, kPrograms);
  CHECK(result.exit_code == 5);
  CHECK(result.json()["error"]["code"] == "UNAVAILABLE");
  CHECK(result.err.find("--local") != std::string::npos);
  CHECK(result.err.find("--tls") != std::string::npos);
  const CliResult tls =
      Cli({"eval", "-", "-e", "at", "--server", "127.0.0.1:1", "--tls"}, kPrograms);
  CHECK(tls.exit_code == 5);
  CHECK(tls.err.find("TLS with it fails") != std::string::npos);
}

}  // namespace
}  // namespace pullback::test
