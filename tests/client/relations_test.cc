// Relations on the command line, here and through a server; and on the wire.
#include <catch2/catch.hpp>

#include "core/base/relation.h"
#include "proto/values.h"
#include "pullback/v1/tensor.pb.h"
#include "tests/client/cli.h"

namespace pullback::test {
namespace {

using Words = std::vector<std::string>;

constexpr char kEnergy[] = R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
  return sum i < n, j < n { [r(i, j)] * (x[i] - x[j]) ** 2 }
}
)";

CliResult EvalRelation(const std::string& relation, const Words& place) {
  Words words = {"eval",          "-",  "-e",         "f", "-t", "value_and_grad", "-a",
                 "r=" + relation, "-a", "x=[1, 3, 6]"};
  words.insert(words.end(), place.begin(), place.end());
  return Cli(words, kEnergy);
}

TEST_CASE("a relation as coordinates and as rows") {
  for (const Words& place : {Words{"--local"}, Words{"--server", ServerAddress()}}) {
    for (const char* relation : {R"({"shape": [3, 3], "coo": [[1, 0], [2, 1]]})",
                                 R"({"shape": [3, 3], "csr": [[0, 1, 2, 2], [1, 2]]})"}) {
      const CliResult result = EvalRelation(relation, place);
      INFO(result.err);
      CHECK(result.exit_code == 0);
      CHECK(result.out == "value = 13.0\ngradient by x = [-4.0, -2.0, 6.0]\n");
    }
  }
}

TEST_CASE("relations that are none") {
  const auto error = [](const std::string& relation) {
    const CliResult result = EvalRelation(relation, {"--local"});
    CHECK(result.exit_code == 3);
    return result.err;
  };
  const auto has = [&](const std::string& relation, const std::string& message) {
    INFO(error(relation));
    CHECK(error(relation).find(message) != std::string::npos);
  };
  has("[[0, 1]]", R"(expected rel[n, n] as {"shape", "coo": [2 lists of indices]})");
  has(R"({"shape": [3, 3], "coo": [[0]]})", "expected rel[n, n] as");
  has(R"({"shape": [3, 3], "coo": [[0], [1]], "csr": [[0], [1]]})", "expected rel[n, n] as");
  has(R"({"shape": [3, 3], "coo": [[0], [1.5]]})", "argument 'r'.coo[1]");
  has(R"({"shape": [3, 3], "coo": [[0, 1], [1, 3]]})", "tuple 1, (1, 3), is outside of rel[3, 3]");
  has(R"({"shape": [3, 3], "csr": [[0, 2, 1, 2], [1, 2]]})", "row starts never decrease");
  has(R"({"shape": [3, 4], "coo": [[0], [1]]})", "argument 'r' axis 1: expected n = 3");
}

std::string Bytes(const std::vector<int64_t>& integers) {
  return {reinterpret_cast<const char*>(integers.data()), integers.size() * sizeof(int64_t)};
}

TEST_CASE("relations: messages") {
  v1::Value message;
  v1::Relation& relation = *message.mutable_relation();
  relation.add_sizes(2);
  relation.add_sizes(3);
  const auto fault = [&] {
    ApiValue value;
    const auto found = wire::DecodeValue(message, &value);
    return found ? found->path + ": " + found->what : FaultOfRelation(2, value);
  };
  CHECK(fault() == ".relation: neither coordinates nor rows");
  relation.mutable_coordinates()->add_indices(Bytes({1, 0}));
  relation.mutable_coordinates()->add_indices(Bytes({2, 0}));
  CHECK(fault().empty());
  relation.mutable_coordinates()->set_indices(1, "abc");
  CHECK(fault() == ".relation.coordinates.indices[1]: not whole 64-bit integers");
  relation.mutable_rows()->set_starts(Bytes({0, 1, 2}));
  relation.mutable_rows()->set_columns(Bytes({2, 1}));
  CHECK(fault().empty());
  relation.mutable_rows()->set_starts(Bytes({0, 2}));
  CHECK(fault() ==
        ".relation.rows: a relation rel[2, 3] has 2 rows, so that there are one more row starts; "
        "got 2");
  // A library sends the tuple that it holds.
  v1::Value encoded;
  wire::EncodeValue(RelationFromCoo({2, 3}, {{1}, {2}}), &encoded);
  ApiValue back;
  REQUIRE_FALSE(wire::DecodeValue(encoded, &back));
  CHECK(FaultOfRelation(2, back).empty());
  v1::Type type;
  wire::EncodeType(RelationApiType({"n", "m"}), &type);
  CHECK(wire::DecodeType(type, {}).ToString() == "rel[n, m]");
}

}  // namespace
}  // namespace pullback::test
