// pullback fmt and pullback check.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/client/cli.h"

namespace pullback::test {
namespace {

using nlohmann::json;

constexpr char kUgly[] =
    "# A comment.\nfn f( x:f64 ,n:i64 )->f64{var r=1.0 # here\nfor i<n{r=r*x};return r}\n";

TEST_CASE("fmt prints, and what it printed stays") {
  const CliResult once = Cli({"fmt", "-"}, kUgly);
  CHECK(once.exit_code == 0);
  CHECK(once.out.find("# A comment.\nfn f(x: f64, n: i64) -> f64 {\n") == 0);
  CHECK(once.out.find("# here") != std::string::npos);
  const CliResult twice = Cli({"fmt", "-"}, once.out);
  CHECK(twice.out == once.out);
  CHECK(Cli({"fmt", "--check", "-"}, once.out).exit_code == 0);
  CHECK(Cli({"fmt", "--check", "-"}, kUgly).exit_code == 1);
}

TEST_CASE("fmt -w rewrites the file and leaves nothing beside it") {
  const Scratch scratch;
  const std::string file = scratch.Put("f.pull", kUgly);
  const std::filesystem::perms mode = std::filesystem::perms(0640);
  std::filesystem::permissions(file, mode);
  CHECK(Cli({"fmt", "--check", file}).exit_code == 1);
  const CliResult result = Cli({"fmt", "-w", file});
  CHECK(result.exit_code == 0);
  CHECK(result.out.empty());
  CHECK(ReadFile(file) == Cli({"fmt", "-"}, kUgly).out);
  CHECK(Cli({"fmt", "--check", file}).exit_code == 0);
  CHECK(std::filesystem::status(file).permissions() == mode);
  const std::filesystem::directory_iterator begin(scratch.path(""));
  CHECK(std::distance(begin, std::filesystem::directory_iterator()) == 1);
}

TEST_CASE("fmt does not touch what it cannot read") {
  const Scratch scratch;
  const std::string file = scratch.Put("f.pull", "fn f( {");
  const CliResult result = Cli({"fmt", "-w", file});
  CHECK(result.exit_code == 3);
  CHECK(result.err.find(file + ":1:") == 0);
  CHECK(ReadFile(file) == "fn f( {");
}

TEST_CASE("check reports every mistake with its line") {
  const std::string program =
      "fn f(x: f64) -> f64 { return x + nope }\nfn g(x: f64) -> f64 { return x + true }\n"
      "fn h(x: f64) -> f64 { let y = x }\n";
  const CliResult result = Cli({"check", "-"}, program);
  CHECK(result.exit_code == 3);
  for (const char* place : {"-:1:34: error: ", "-:2:", "-:3:", "3 messages"}) {
    CHECK(result.err.find(place) != std::string::npos);
  }
  CHECK(Cli({"check", "-", "--json"}, program).json()["error"]["diagnostics"].size() == 3);
}

TEST_CASE("check takes several files and is as bad as the worst") {
  const Scratch scratch;
  const std::string good = scratch.Put("good.pull", "fn f(x: f64) -> f64 { return x }\n");
  const std::string bad = scratch.Put("bad.pull", "fn f(x: f64) -> f64 { return }\n");
  const CliResult both = Cli({"check", bad, good});
  CHECK(both.exit_code == 3);
  CHECK(both.out == good + ": ok, 1 function\n");
  CHECK(Cli({"check", good}).exit_code == 0);
}

}  // namespace
}  // namespace pullback::test
