// Arrays of structs and tuples as arguments and results of pullback eval, here and through a server.
#include <catch2/catch.hpp>

#include "tests/client/cli.h"

namespace pullback::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr char kProgram[] =
    "struct Point { x: f64, y: f64 }\n"
    "struct Camera { r: [3]f64, f: f64, k: i64, at: Point }\n"
    "fn norm(p: Point) -> f64 { return p.x * p.x + p.y }\n"
    "fn total(ps: [n]Point) -> f64 { return sum i < n { norm(ps[i]) } }\n"
    "fn same(cs: [n]Camera) -> [n]Camera { return cs }\n"
    "fn seen(cs: [n]Camera) -> f64 { return sum i < n { cs[i].f * cs[i].r[2] * cs[i].at.y } }\n"
    "fn swap(ps: [n](f64, i64)) -> [n](i64, f64) { return gen i < n { (ps[i].1, ps[i].0) } }\n"
    "fn lasts(l: list [_]Point) -> list (f64, [_]Point) {\n"
    "  return map(|p: [_]Point| (p[len(p) - 1].y, p), l)\n}\n"
    "struct Scene { ps: [n]Point, w: f64 }\n"
    "fn weigh(s: Scene) -> f64 { return s.w * sum(s.ps.y) }\n";

CliResult Run(const std::string& entry, const std::string& argument, const Words& more = {}) {
  return Eval(kProgram, entry, argument, more);
}

json Answer(const std::string& entry, const std::string& argument, const Words& more = {}) {
  return EvalHereAndThere(kProgram, entry, argument, more);
}

void CheckError(const std::string& entry, const std::string& argument, const std::string& part) {
  for (const Words& where : {Words{}, Words{"--server", ServerAddress()}}) {
    const CliResult result = Run(entry, argument, where);
    INFO(result.err);
    CHECK(result.exit_code == 3);
    CHECK(result.err.find(part) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("an array of structs is a list of them, or an object of arrays") {
  const json points = {{"x", {4.0, 6.0}}, {"y", {1.0, 1.0}}};
  for (const char* argument : {R"(ps=[{"x": 2, "y": 4}, {"y": 5, "x": 3}])",
                               R"(ps={"x": [2, 3], "y": [4, 5]})", "ps=[[2, 4], [3, 5]]"}) {
    INFO(argument);
    const json answer = Answer("total", argument, {"-t", "value_and_grad"});
    CHECK(answer["value"] == 22);
    CHECK(answer["gradients"]["ps"] == points);
  }
  CHECK(Answer("total", "ps=[]")["value"] == 0);
}

TEST_CASE("an array of structs comes out as an object of arrays, which keeps its sizes") {
  const std::string one = R"({"r": [1, 2, 3], "f": 2, "k": 7, "at": {"x": 1, "y": 5}})";
  const json expected = {
      {"r", {{1.0, 2.0, 3.0}}}, {"f", {2.0}}, {"k", {7}}, {"at", {{"x", {1.0}}, {"y", {5.0}}}}};
  CHECK(Answer("same", "cs=[" + one + "]")["value"] == expected);
  CHECK(Answer("same", "cs=" + expected.dump())["value"] == expected);
  const json none =
      Answer("same",
             R"(cs={"r": {"shape": [0, 3], "dtype": "f64"}, "f": [], "k": [], "at": []})")["value"];
  CHECK(none["r"]["shape"] == json{0, 3});
  CHECK(none["at"]["y"] == json::array());
  const json gradient = Answer("seen", "cs=[" + one + "]", {"-t", "value_and_grad"});
  CHECK(gradient["gradients"]["cs"]["k"].is_null());
  CHECK(gradient["gradients"]["cs"]["r"] == json{{0.0, 0.0, 10.0}});
  const std::string seed = R"({"cs": [{"r": [0, 0, 1], "f": 1, "k": null, "at": [0, 1]}]})";
  const json tangent = Answer("seen", "cs=[" + one + "]", {"-t", "jvp", "--seed", seed});
  CHECK(tangent["tangent"] == 10 + 15 + 6);
}

TEST_CASE("an array of tuples has numbers for names; lists hold such arrays") {
  const json swapped = {{"0", {1, 2}}, {"1", {0.5, 1.5}}};
  CHECK(Answer("swap", "ps=[[0.5, 1], [1.5, 2]]")["value"] == swapped);
  CHECK(Answer("swap", R"(ps={"0": [0.5, 1.5], "1": [1, 2]})")["value"] == swapped);
  const json first = {3.0, {{"x", {1.0}}, {"y", {3.0}}}};
  const json second = {5.0, {{"x", {1.0, 4.0}}, {"y", {3.0, 5.0}}}};
  CHECK(Answer("lasts", R"(l=[[{"x": 1, "y": 3}], {"x": [1, 4], "y": [3, 5]}])")["value"] ==
        json{first, second});
}

TEST_CASE("arrays of structs that do not fit are refused") {
  CheckError("total", R"(ps={"x": [1, 2], "y": [3]})", "argument 'ps.y' axis 0");
  CheckError("total", R"(ps={"x": [1, 2]})", "the field 'y' is missing");
  CheckError("total", R"(ps=[{"x": 1, "z": 2}])", "no field 'z'");
  CheckError("total", "ps=3", "as a list of elements or as an object of arrays");
  CheckError("total", "ps=[3]", "'ps'[0]");
  CheckError("weigh", R"(s={"ps": {"x": [1, 2], "y": [3]}, "w": 2})", "argument 's.ps.y' axis 0");
  CheckError("lasts", R"(l=[{"x": [1, 2], "y": [3]}])", "expected 2 on axis 0");
}

}  // namespace pullback::test
