// Lists as arguments and results of pullback eval, here and through a server.
#include <catch2/catch.hpp>

#include "tests/client/cli.h"

namespace pullback::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr char kProgram[] =
    "struct Tree { value: f64, kids: list Tree }\n"
    "struct Part { a: [_]f64, k: i64, ok: bool, x: f32 }\n"
    "fn total(xs: list f64) -> f64 {\n"
    "  var s = 0.0\n  for i < len(xs) { s += xs[i] * xs[i] }\n  return s\n}\n"
    "fn weigh(t: Tree) -> f64 {\n"
    "  var s = t.value * t.value\n"
    "  for i < len(t.kids) { s += 2.0 * weigh(t.kids[i]) }\n  return s\n}\n"
    "fn same(t: Tree) -> Tree { return t }\n"
    "fn more(p: list Part) -> list Part { return push(p, Part([1.0, 2.0], 7, true, 0.5)) }\n"
    "fn heads(p: list Part) -> f64 {\n"
    "  var s = 0.0\n"
    "  for i < len(p) { s += p[i].a[0] * p[i].a[0] + f64(p[i].x) * f64(p[i].k) }\n  return s\n}\n"
    "fn nested(xs: list list i64) -> (i64, list list i64) { return (len(xs), xs) }\n"
    "struct Pair { a: [2]f64 }\n"
    "fn pairs(xs: list Pair) -> i64 { return len(xs) }\n";

CliResult Run(const std::string& entry, const std::string& argument, const Words& more = {}) {
  return Eval(kProgram, entry, argument, more);
}

json Answer(const std::string& entry, const std::string& argument, const Words& more = {}) {
  return EvalHereAndThere(kProgram, entry, argument, more);
}

const Words kGradient = {"-t", "value_and_grad"};

TEST_CASE("a list of numbers is a list") {
  const json answer = Answer("total", "xs=[1, 2, 3]", kGradient);
  CHECK(answer["value"] == 14);
  CHECK(answer["gradients"]["xs"] == json{2, 4, 6});
  const json empty = Answer("total", "xs=[]", kGradient);
  CHECK(empty["value"] == 0);
  CHECK(empty["gradients"]["xs"] == json::array());
}

constexpr char kTree[] =
    R"({"value": 1, "kids": [{"value": 2, "kids": [{"kids": [], "value": 3}]}, [4, []]]})";

TEST_CASE("a tree goes in, and its gradient is a tree") {
  const std::string t = std::string("t=") + kTree;
  const json answer = Answer("weigh", t, kGradient);
  CHECK(answer["value"] == 77);
  const json leaf = {{"value", 24}, {"kids", json::array()}};
  const json kids = {{{"value", 8}, {"kids", {leaf}}}, {{"value", 16}, {"kids", json::array()}}};
  CHECK(answer["gradients"]["t"] == json{{"value", 2}, {"kids", kids}});
  const json same = Answer("same", t)["value"];
  CHECK(same["kids"][0]["kids"][0]["value"] == 3);
  CHECK(Answer("same", t, {"-t", "vjp", "--seed", same.dump()})["gradients"]["t"] == same);
  CHECK(Answer("same", t, {"-t", "jvp", "--seed", json{{"t", same}}.dump()})["tangent"] == same);
  // Twice the tree's own gradient is the sum that the tangent of a norm is.
  CHECK(Answer("weigh", t, {"-t", "jvp", "--seed", json{{"t", same}}.dump()})["tangent"] == 154);
}

TEST_CASE("elements of every kind keep what they are") {
  const json parts = {{{"a", json::array()}, {"k", 1}, {"ok", false}, {"x", 0.25}},
                      {{"a", {5, 6}}, {"k", 2}, {"ok", true}, {"x", "NaN"}}};
  const json value = Answer("more", "p=" + parts.dump())["value"];
  REQUIRE(value.size() == 3);
  CHECK(value[0] == parts[0]);
  CHECK(value[1] == parts[1]);
  CHECK(value[2] == json{{"a", {1, 2}}, {"k", 7}, {"ok", true}, {"x", 0.5}});
  CHECK(Answer("nested", "xs=[[1], [], [2, 3]]")["value"] == json{3, {{1}, json::array(), {2, 3}}});
}

TEST_CASE("null stands for what holds no floats, in lists as well") {
  const std::string p =
      R"(p=[{"a": [1, 2, 3], "k": 1, "ok": false, "x": 0.25}, [[5], 2, true, 1]])";
  const json gradient = Answer("heads", p, kGradient)["gradients"]["p"];
  CHECK(gradient[0] == json{{"a", {2, 0, 0}}, {"k", nullptr}, {"ok", nullptr}, {"x", 1}});
  CHECK(gradient[1] == json{{"a", {10}}, {"k", nullptr}, {"ok", nullptr}, {"x", 2}});
  const std::string tangent =
      R"({"p": [{"a": [1, 2, 3], "k": null, "ok": null, "x": 0.25}, [[5], null, null, 1]]})";
  CHECK(Answer("heads", p, {"-t", "jvp", "--seed", tangent})["tangent"] == 54.25);
  const std::string integer = R"({"p": [[[1, 2, 3], 1, null, 0], [[5], null, null, 1]]})";
  CHECK(Run("heads", p, {"-t", "jvp", "--seed", integer}).exit_code == 3);
  CHECK(Run("nested", "xs=[[1]]", {"-t", "jvp", "--seed", "{}"}).exit_code == 3);
}

std::string Refused(const CliResult& result) {
  CHECK(result.exit_code == 3);
  const json error = result.json()["error"];
  CHECK(error["code"] == "INVALID_ARGUMENT");
  return error["message"];
}

TEST_CASE("what is no such list is refused by its place") {
  CHECK(Refused(Run("total", "xs=3")) == "argument 'xs': expected list f64, got 3");
  CHECK(Refused(Run("total", "xs=[1, [2]]")) ==
        "argument 'xs'[1]: expected a number for f64, got a list of 1");
  CHECK(Refused(Run("same", R"(t={"value": 1, "kids": [{"value": 2}]})")) ==
        "argument 't'.kids[0]: the field 'kids' is missing; it is list Tree");
  CHECK(Refused(Run("same", R"(t={"value": 1, "kids": {"value": 2}})")) ==
        "argument 't'.kids: expected list Tree, got an object");
  CHECK(Refused(Run("pairs", "xs=[[[1, 2]], [[1, 2, 3]]]")).find("expected 2 on axis 0, got 3") !=
        std::string::npos);
}

TEST_CASE("a seed has the lengths of what it belongs to") {
  const std::string t = std::string("t=") + kTree;
  const std::string seed = R"({"value": 1, "kids": []})";
  CHECK(Refused(Run("weigh", t, {"-t", "jvp", "--seed", R"({"t": )" + seed + "}"})) ==
        "seed 't.kids': expected a list of 2, got one of 0");
  CHECK(Refused(Run("same", t, {"-t", "vjp", "--seed", seed})) ==
        "seed element kids: expected a list of 2, got one of 0");
}

TEST_CASE("a tree may be as deep as JSON is read") {
  std::string deep = "[1, []]";
  for (int i = 0; i < 400; ++i) deep = "[1, [" + deep + "]]";
  CHECK(Answer("same", "t=" + deep)["value"]["kids"][0]["value"] == 1);
  for (int i = 0; i < 200; ++i) deep = "[1, [" + deep + "]]";
  CHECK(Run("same", "t=" + deep).err.find("nested too deeply") != std::string::npos);
}

}  // namespace
}  // namespace pullback::test
