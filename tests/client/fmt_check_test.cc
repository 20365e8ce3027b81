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

TEST_CASE("fmt turns text into messages and back") {
  const Scratch scratch;
  const std::string text = "fn f(x: f64) -> f64 { return x ** 2 - 1.5 }\n";
  const std::string file = scratch.Put("f.pull", text);
  const CliResult message = Cli({"fmt", "--to", "message", file});
  const CliResult in_json = Cli({"fmt", "--to", "json", file});
  CHECK(message.exit_code == 0);
  CHECK(in_json.json()["tables"]["functions"][0]["name"] == "f");
  const std::string bytes = scratch.Put("f.pb", message.out);
  const std::string words = scratch.Put("f.json", in_json.out);
  for (const std::string& other : {bytes, words}) {
    CHECK(Cli({"fmt", "--to", "text", other}).out == text);
    CHECK(Cli({"fmt", "--check", other}).exit_code == 0);
    CHECK(Cli({"fmt", other}).out == ReadFile(other));
    CHECK(Cli({"check", other}).exit_code == 0);
    CHECK(Cli({"eval", other, "-e", "f", "-a", "x=3.0", "--local"}).out == "value = 7.5\n");
  }
  CHECK(Cli({"fmt", "--to", "message", words}).out == message.out);
  CHECK(Cli({"fmt", "--from", "json", "--to", "text", "-"}, in_json.out).out == text);
  CHECK(Cli({"fmt", "-w", "--to", "json", file}).exit_code == 2);
}

TEST_CASE("fmt says which field of a message is wrong") {
  const char* wrong = R"({"tables": {"functions": [{"name": "f", "body": {"statements": [3]}}]}})";
  const CliResult result = Cli({"fmt", "--from", "json", "-"}, wrong);
  CHECK(result.exit_code == 3);
  CHECK(result.err.find("program.tables.functions[0].body.statements[0]: 3 is out of range, there "
                        "are 0 statements") != std::string::npos);
  const Scratch scratch;
  const std::string file = scratch.Put("g.json", R"({"tables": {
    "types": [{"scalar": "DTYPE_F64"}], "expressions": [{"name": "y"}],
    "statements": [{"returns": {"value": 0}}],
    "functions": [{"name": "g", "result": 0, "body": {"statements": [0]}}]}})");
  const CliResult type = Cli({"check", file});
  CHECK(type.exit_code == 3);
  CHECK(type.err.find(file + ":1:24: error: ") == 0);
  CHECK(type.err.find(" (line and column of the program's canonical text)\n"
                      "fn g() -> f64 { return y }\n") != std::string::npos);
  CHECK(Cli({"fmt", "--from", "json", "-"}, "{").exit_code == 3);
  CHECK(Cli({"fmt", "--from", "message", "-"}, "no").exit_code == 3);
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
