// JSON in and out of pullback eval.
#include <catch2/catch.hpp>

#include "tests/client/cli.h"

namespace pullback::test {
namespace {

using nlohmann::json;

// One function of one parameter that gives it back. What it prints for `text`, or its error.
CliResult Echo(const std::string& type, const std::string& text) {
  const std::string program = "fn echo(x: " + type + ") -> " + type + " { return x }\n";
  return Cli({"eval", "-", "-e", "echo", "-a", "x=" + text, "--local", "--json"}, program);
}

// The characters of the value, up to the next key.
std::string Printed(const std::string& type, const std::string& text) {
  const CliResult result = Echo(type, text);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const size_t begin = result.out.find(": ") + 2;
  return result.out.substr(begin, result.out.find(", \"kernel_id\"") - begin);
}

std::string Refused(const std::string& type, const std::string& text) {
  const CliResult result = Echo(type, text);
  CHECK(result.exit_code == 3);
  const json error = result.json()["error"];
  CHECK(error["code"] == "INVALID_ARGUMENT");
  CHECK(error["reason"] == "TYPE_MISMATCH");
  CHECK(result.err.find("argument 'x'") != std::string::npos);
  return error["message"];
}

bool Says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("floats read back what they were, in the fewest digits") {
  CHECK(Printed("f64", "0.1") == "0.1");
  CHECK(Printed("f64", "8") == "8.0");
  CHECK(Printed("f64", "-0.0") == "-0.0");
  CHECK(Printed("f64", "-0") == "-0.0");
  CHECK(Printed("f64", "0") == "0.0");
  CHECK(Printed("f64", "0.30000000000000004") == "0.30000000000000004");
  CHECK(Printed("f64", "1e22") == "1e+22");
  CHECK(Printed("f64", "5e-324") == "5e-324");
  CHECK(Printed("f64", "1e-400") == "0.0");
  CHECK(Printed("f64", "9007199254740993") == "9007199254740992.0");
  CHECK(Printed("f64", "123456789012345678901234567890") == "1.2345678901234568e+29");
}

TEST_CASE("an f32 is read and printed as one") {
  CHECK(Printed("f32", "0.1") == "0.1");
  // By way of an f64 this would round to 1.0, and then down.
  CHECK(Printed("f32", "1.00000005960464477539062500001") == "1.0000001");
  CHECK(Says(Refused("f32", "1e39"), "out of range for f32"));
}

TEST_CASE("NaN and infinities are strings") {
  CHECK(Printed("f64", "\"NaN\"") == "\"NaN\"");
  CHECK(Printed("f32", "\"Infinity\"") == "\"Infinity\"");
  CHECK(Printed("[n]f64", R"(["-Infinity", 1])") == R"(["-Infinity", 1.0])");
  CHECK(Says(Refused("f64", "\"nan\""), "expected a number"));
}

TEST_CASE("integers keep all their digits") {
  CHECK(Printed("i64", "-0") == "0");
  CHECK(Printed("i64", "9007199254740992") == "9007199254740992");
  CHECK(Printed("i64", "9007199254740993") == "\"9007199254740993\"");
  CHECK(Printed("i64", "\"-9223372036854775808\"") == "\"-9223372036854775808\"");
  CHECK(Printed("i64", "9223372036854775807") == "\"9223372036854775807\"");
  CHECK(Says(Refused("i64", "9223372036854775808"), "out of range for i64"));
  CHECK(Says(Refused("i64", "99999999999999999999999"), "out of range for i64"));
  CHECK(Says(Refused("i64", "1.5"), "expected an integer"));
  CHECK(Says(Refused("i64", "true"), "expected an integer"));
}

TEST_CASE("bools are true and false") {
  CHECK(Printed("bool", "true") == "true");
  CHECK(Printed("[n]bool", "[false, true]") == "[false, true]");
  CHECK(Says(Refused("bool", "1"), "expected true or false"));
}

TEST_CASE("arrays are lists of lists") {
  CHECK(Printed("[n, m]f64", "[[1, 2, 3], [4, 5, 6]]") == "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
  CHECK(Printed("[n, m]i64", R"({"shape": [2, 1], "data": [7, 8]})") == "[[7], [8]]");
  CHECK(Says(Refused("[n, m]f64", "[[1, 2], [3]]"), "ragged"));
  CHECK(Says(Refused("[n, m]f64", "[1, 2]"), "nested 2 deep"));
  CHECK(Says(Refused("[n]f64", "[[1]]"), "at [0]"));
  CHECK(Says(Refused("[n]f64", "3"), "[n]f64"));
}

TEST_CASE("empty arrays keep their shape") {
  CHECK(Printed("[n]f64", "[]") == "[]");
  CHECK(Printed("[n, m]f64", "[[], []]") == "[[], []]");
  const std::string shape = R"({"shape": [0, 3], "dtype": "f32"})";
  CHECK(Printed("[n, m]f32", shape) == shape);
  CHECK(Says(Refused("[n, m]f32", "[]"), "\"shape\""));
  CHECK(Says(Refused("[n, m]f64", shape), "dtype"));
  CHECK(Says(Refused("[n]f64", R"({"shape": [2]})"), "\"data\""));
  CHECK(Says(Refused("[n]f64", R"({"shape": [-1]})"), "\"shape\""));
  CHECK(Says(Refused("[n]f64", R"({"shape": [0], "size": 1})"), "unknown key"));
}

TEST_CASE("tuples are lists") {
  CHECK(Printed("(f64, (i64, [n]bool))", "[1, [2, [true]]]") == "[1.0, [2, [true]]]");
  CHECK(Says(Refused("(f64, i64)", "[1]"), "list of 2"));
  CHECK(Says(Refused("(f64, i64)", "[1, 2.5]"), "argument 'x'.1"));
}

constexpr char kCamera[] =
    "struct Lens { f: f64, glass: i64 }\n"
    "struct Camera { r: [3]f64, lens: Lens }\n"
    "fn same(c: Camera) -> Camera { return c }\n"
    "fn power(c: Camera) -> f64 { return sum(c.r * c.r) / c.lens.f }\n"
    "struct Named { v: [n]f64, k: f64 }\n"
    "fn named(x: [n]f64) -> Named { return Named(2.0 * x, sum(x)) }\n";

CliResult Camera(const std::string& entry, const std::string& argument,
                 const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"eval", "-", "-e", entry, "-a", argument, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  if (more.empty() || more[0] != "--server") words.emplace_back("--local");
  return Cli(words, kCamera);
}

TEST_CASE("structs are objects; lists of the fields go in, too") {
  const json camera = {{"r", {1, 2, 3}}, {"lens", {{"f", 2}, {"glass", 4}}}};
  for (const char* text : {R"({"lens": {"glass": 4, "f": 2}, "r": [1, 2, 3]})",
                           "[[1, 2, 3], [2, 4]]", R"({"r": [1, 2, 3], "lens": [2, 4]})"}) {
    const CliResult result = Camera("same", std::string("c=") + text);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    CHECK(result.json()["value"] == camera);
    // Fields come in the order of their declaration.
    CHECK(Says(result.out, R"({"r": [1.0, 2.0, 3.0], "lens": {"f": 2.0, "glass": 4}})"));
    const CliResult there = Camera("same", std::string("c=") + text, {"--server", ServerAddress()});
    CHECK(there.json()["value"] == camera);
  }
  const CliResult gradient =
      Camera("power", R"(c={"r": [1, 2, 3], "lens": [2, 4]})", {"-t", "value_and_grad"});
  CHECK(gradient.json()["gradients"]["c"] ==
        json{{"r", {1, 2, 3}}, {"lens", {{"f", -3.5}, {"glass", nullptr}}}});
  const std::string tangent = R"({"c": {"r": [1, 0, 0], "lens": {"f": 2, "glass": null}}})";
  CHECK(Camera("power", "c=[[1, 2, 3], [2, 4]]", {"-t", "jvp", "--seed", tangent})
            .json()["tangent"] == -6);
}

TEST_CASE("a struct's fields are all there, once, and no others") {
  const auto refused = [](const std::string& text) {
    const CliResult result = Camera("same", "c=" + text);
    CHECK(result.exit_code == 3);
    CHECK(result.json()["error"]["reason"] == "TYPE_MISMATCH");
    return result.json()["error"]["message"].get<std::string>();
  };
  CHECK(refused(R"({"r": [1, 2, 3]})") == "argument 'c': the field 'lens' is missing; it is Lens");
  CHECK(refused(R"({"r": [1, 2, 3], "lens": {"f": 1, "glass": 2, "x": 3}})") ==
        "argument 'c'.lens: Lens has no field 'x'; it has: f, glass");
  CHECK(refused(R"({"r": [1, 2, 3], "lens": {"f": 1, "glass": 2.5}})") ==
        "argument 'c'.lens.glass: expected an integer for i64, got 2.5");
  CHECK(refused("3") == "argument 'c': expected Camera as an object, or as a list of 2, got 3");
  const CliResult twice = Camera("same", R"(c={"r": [1, 2, 3], "lens": [1, 2], "r": [1, 2, 3]})");
  CHECK(twice.exit_code == 2);
  CHECK(Says(twice.err, "the key \"r\" comes twice"));
  CHECK(Says(Camera("same", R"(c={"r": [1, 2], "lens": [1, 2]})").err, "expected 3, got 2"));
}

TEST_CASE("null stands for the derivative of what has none") {
  const std::string program = "fn f(p: (f64, i64)) -> (i64, f64) { return (p.1, 3.0 * p.0) }\n";
  const auto run = [&](const std::string& transform, const std::string& seed) {
    return Cli({"eval", "-", "-e", "f", "-t", transform, "-a", "p=[1, 2]", "--seed", seed,
                "--local", "--json"},
               program);
  };
  CHECK(run("vjp", "[null, 2]").json()["gradients"]["p"] == json{6, nullptr});
  CHECK(run("jvp", R"({"p": [1, null]})").json()["tangent"] == json{nullptr, 3});
  CHECK(run("vjp", "[1, 2]").exit_code == 3);
  CHECK(run("jvp", R"({"q": 1})").exit_code == 3);
  CHECK(run("jvp", "[1]").exit_code == 2);
}

TEST_CASE("arguments from files; the command line wins") {
  const Scratch scratch;
  const std::string program =
      scratch.Put("f.pull", "fn f(x: [n]f64, k: i64) -> f64 { return x[k] }\n");
  const std::string args = scratch.Put("args.json", R"({"x": [1, 2], "k": 0})");
  const std::string list = scratch.Put("x.json", "[5, 6]\n");
  const auto value = [&](const std::vector<std::string>& more) -> json {
    std::vector<std::string> words = {"eval", program, "-e", "f", "--local", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Cli(words).json()["value"];
  };
  CHECK(value({"--args", args}) == 1);
  CHECK(value({"--args", args, "-a", "k=1"}) == 2);
  CHECK(value({"-a", "x=@" + list, "-a", "k=1"}) == 6);
}

}  // namespace
}  // namespace pullback::test
