// Flags, their environment twins, and what the documentation says of them.
#include <catch2/catch.hpp>

#include <regex>
#include <set>

#include "tests/server/process.h"
#include "tests/support/paths.h"

namespace pullback::test {
namespace {

std::set<std::string> FlagsOf(const std::string& text) {
  const std::regex flag("--[a-z][a-z-]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), flag), std::sregex_token_iterator()};
}

std::string Twin(const std::string& flag) {
  std::string name = "PULLBACK_";
  for (char c : flag.substr(2)) name += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

TEST_CASE("--help lists every flag with its environment twin, and the documentation agrees") {
  const Output help = RunPullbackd({"--help"});
  CHECK(help.exit_code == 0);
  const std::string page = testing::ReadSourceFile("docs/operations.md");
  const std::set<std::string> flags = FlagsOf(help.text);
  CHECK(flags.size() > 20);
  for (const std::string& flag : flags) {
    INFO(flag);
    CHECK(page.find("`" + flag + "`") != std::string::npos);
    if (flag == "--help" || flag == "--version") continue;
    CHECK(help.text.find(Twin(flag)) != std::string::npos);
  }
}

TEST_CASE("--version") {
  const Output output = RunPullbackd({"--version"});
  CHECK(output.exit_code == 0);
  CHECK(std::regex_search(output.text, std::regex("^pullbackd [0-9]+\\.[0-9]+\\.[0-9]+")));
}

TEST_CASE("the environment twin is read, and the flag wins") {
  ServerProcess by_environment({}, {"PULLBACK_MAX_NESTING=33", "PULLBACK_CACHE_BYTES=5MiB"});
  auto info = by_environment.Connect()->Info();
  REQUIRE(info.ok());
  CHECK(info->max_nesting == 33);
  ServerProcess by_flag({"--max-nesting", "44"}, {"PULLBACK_MAX_NESTING=33"});
  info = by_flag.Connect()->Info();
  REQUIRE(info.ok());
  CHECK(info->max_nesting == 44);
}

TEST_CASE("bad values do not start a server") {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--grpc-port", "70000"},
                                                                     {"--grpc-port", "many"},
                                                                     {"--log-level", "loud"},
                                                                     {"--queue", "0"},
                                                                     {"--memory-budget", "-1"},
                                                                     {"--no-such-flag"},
                                                                     {"--max-deadline", "x"}}) {
    INFO(arguments[0] << " " << arguments.back());
    CHECK(RunPullbackd(arguments).exit_code != 0);
  }
  CHECK(RunPullbackd({}, {"PULLBACK_GRPC_PORT=many"}).exit_code != 0);
}

TEST_CASE("a port that is taken does not start a second server") {
  ServerProcess server;
  const Output second = RunPullbackd({"--grpc-port", std::to_string(server.port())});
  CHECK(second.exit_code == 1);
  CHECK(second.text.find("CANNOT_LISTEN") != std::string::npos);
}

TEST_CASE("the log as JSON") {
  const Output output =
      RunPullbackd({"--host", "256.0.0.1", "--grpc-port", "0", "--log-format", "json"});
  CHECK(output.exit_code == 1);
  CHECK(output.text.find(R"("level":"error","message":"cannot start","reason":"CANNOT_LISTEN")") !=
        std::string::npos);
}

}  // namespace
}  // namespace pullback::test
