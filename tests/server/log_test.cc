// One line of the log for every request, with where its time went.
#include <catch2/catch.hpp>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/sha256.h"
#include "tests/server/process.h"
#include "tests/server/programs.h"

namespace pullback::test {
namespace {

using Json = nlohmann::json;

std::vector<Json> Answered(const std::string& log) {
  std::vector<Json> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    Json json = Json::parse(line);  // throws: every line is one object
    if (json["message"] == "answered") found.push_back(std::move(json));
  }
  return found;
}

TEST_CASE("log: a JSON object for every request, with id, hash and stages") {
  ServerProcess server({"--log-format", "json", "--log-requests"});
  const auto client = server.Connect();
  client::CallOptions call;
  call.request_id = "mine-1";
  REQUIRE(client->Evaluate(PowGradient(), PowInputs(2, 3), call).ok());
  CHECK_FALSE(client->Compile(Spec("fn f(", "f")).ok());
  const std::vector<Json> lines = Answered(server.log());
  REQUIRE(lines.size() == 3);
  const std::string hash = Sha256Hex(kPow);
  for (int i = 0; i < 2; ++i) {
    CHECK(lines[i]["method"] == (i == 0 ? "Compile" : "Evaluate"));
    CHECK(lines[i]["level"] == "info");
    CHECK(lines[i]["request_id"] == "mine-1");
    CHECK(lines[i]["program_hash"] == hash);
    CHECK(lines[i]["code"] == "OK");
    CHECK(lines[i]["seconds"].get<double>() > lines[i]["queue_seconds"].get<double>());
    CHECK(lines[i]["convert_seconds"].get<double>() > 0);
  }
  CHECK(lines[0]["compile_parse_seconds"].get<double>() > 0);
  CHECK(lines[0].count("execute_seconds") == 0);
  CHECK(lines[1]["execute_seconds"].get<double>() > 0);
  CHECK(lines[1].count("compile_parse_seconds") == 0);
  CHECK(lines[2]["code"] == "INVALID_ARGUMENT");
  CHECK(lines[2]["request_id"].get<std::string>().size() == 16);
}

TEST_CASE("log: as text, and no line of answered requests unless asked for") {
  ServerProcess asked({"--log-requests"});
  REQUIRE(asked.Connect()->Info().ok());
  REQUIRE(asked.Connect()->Compile(PowGradient()).ok());
  const std::string log = asked.log();
  CHECK(log.find(" info answered method=Compile request_id=") != std::string::npos);
  CHECK(log.find(" compile_parse_seconds=") != std::string::npos);
  ServerProcess quiet;
  REQUIRE(quiet.Connect()->Compile(PowGradient()).ok());
  CHECK(quiet.log().find("answered") == std::string::npos);
}

}  // namespace
}  // namespace pullback::test
