// Every program of docs/examples is formatted, right, and gives what stands beside it (NAME.json): a list
// of calls with their value and derivatives, which were computed without Pullback.
#include <catch2/catch.hpp>

#include <filesystem>

#include "tests/client/cli.h"

namespace pullback::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// The same structure, and numbers that agree within what differences tell.
void CheckNear(const json& got, const json& expected) {
  if (expected.is_number()) {
    REQUIRE(got.is_number());
    CHECK(got.get<double>() == Approx(expected.get<double>()).epsilon(1e-6).margin(1e-7));
    return;
  }
  REQUIRE(got.type() == expected.type());
  REQUIRE(got.size() == expected.size());
  if (!expected.is_structured()) CHECK(got == expected);
  for (const auto& [key, value] : expected.items()) {
    INFO(key);
    if (expected.is_object()) REQUIRE(got.contains(key));
    CheckNear(expected.is_object() ? got[key] : got[std::stoul(key)], value);
  }
}

void CheckCall(const std::string& program, const json& call) {
  INFO(call.dump());
  const std::string transform = call.at("transform");
  std::vector<std::string> words = {"eval", program,   "-e",      call.at("entry"),
                                    "-t",   transform, "--local", "--json"};
  for (const auto& [name, value] : call.at("arguments").items()) {
    words.insert(words.end(), {"-a", name + "=" + value.dump()});
  }
  if (call.contains("seed")) words.insert(words.end(), {"--seed", call["seed"].dump()});
  for (const json& name : call.value("wrt", json::array())) {
    words.insert(words.end(), {"--wrt", name});
  }
  const CliResult result = Cli(words);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const json answer = result.json();
  CheckNear(answer.at("value"), call.at("value"));
  if (transform == "value") return;
  const char* const key = transform == "jvp" ? "tangent" : "gradients";
  CheckNear(answer.at(key), call.at(key));
}

TEST_CASE("the examples are formatted and right, and give what stands beside them") {
  size_t programs = 0;
  for (const auto& entry : fs::directory_iterator(SourceFile("docs/examples"))) {
    if (entry.path().extension() != ".pull") continue;
    const std::string program = entry.path().string();
    INFO(program);
    ++programs;
    CHECK(Cli({"check", program}).exit_code == 0);
    CHECK(Cli({"fmt", "--check", program}).exit_code == 0);
    const json calls = json::parse(ReadFile(fs::path(program).replace_extension(".json")));
    REQUIRE(calls.is_array());
    REQUIRE_FALSE(calls.empty());
    for (const json& call : calls) CheckCall(program, call);
  }
  CHECK(programs >= 7);
}

}  // namespace
}  // namespace pullback::test
