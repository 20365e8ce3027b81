// pullback eval: what it prints, here and through a server.
#include <catch2/catch.hpp>

#include "tests/client/cli.h"

namespace pullback::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr char kScale[] =
    "fn scale(x: [n]f64, s: f64) -> [n]f64 { return gen i < n { s * x[i] } }\n";

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Words Pow(const Words& more) {
  return Words{"eval", SourceFile("docs/examples/pow.pull"), "-e", "pow"} + more;
}

json Answer(const CliResult& result) {
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  return Lasting(result.json());
}

TEST_CASE("x^3 at 2: value 8, gradient 12") {
  const Words gradient = Pow({"-t", "value_and_grad", "-a", "x=2.0", "-a", "n=3"});
  for (const Words& place : {Words{"--local"}, Words{"--server", ServerAddress()}}) {
    const CliResult text = Cli(gradient + place);
    INFO(text.err);
    CHECK(text.exit_code == 0);
    CHECK(text.out == "value = 8.0\ngradient by x = 12.0\n");
    const json answer = Cli(gradient + place + Words{"--json"}).json();
    CHECK(answer["value"] == 8);
    CHECK(answer["gradients"] == json{{"x", 12}});
    CHECK(answer["kernel_id"].get<std::string>().size() == 64);
    CHECK(answer["timings"]["execute_seconds"] >= 0);
  }
}

TEST_CASE("the server's address from the environment") {
  const CliResult result =
      Cli(Pow({"-a", "x=2", "-a", "n=2"}), "", {"PULLBACK_SERVER=" + ServerAddress()});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out == "value = 4.0\n");
  // --local needs no server, whatever the environment says.
  const CliResult local =
      Cli(Pow({"-a", "x=2", "-a", "n=2", "--local"}), "", {"PULLBACK_SERVER=127.0.0.1:1"});
  CHECK(local.exit_code == 0);
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("here and a server give the same answer for every transform") {
  const Scratch scratch;
  const std::string file = scratch.Put("scale.pull", kScale);
  const Words call = {"eval", file, "-e", "scale", "-a", "x=[1, 2]", "-a", "s=3", "--json"};
  const std::vector<Words> transforms = {{"-t", "value"},
                                         {"-t", "vjp", "--seed", "[10, 100]"},
                                         {"-t", "vjp", "--seed", "[10, 100]", "--wrt", "s"},
                                         {"-t", "jvp", "--seed", R"({"s": 1, "x": [1, 0]})"},
                                         {"-t", "jvp", "--wrt", "x", "--seed", R"({"x": [1, 0]})"},
                                         {"-t", "value", "--no-optimise", "--opt-level", "0"}};
  for (const Words& transform : transforms) {
    const json here = Answer(Cli(call + transform + Words{"--local"}));
    const json there = Answer(Cli(call + transform + Words{"--server", ServerAddress()}));
    CHECK(here == there);
    CHECK(here["value"] == json{3, 6});
  }
}

TEST_CASE("a tier can be asked for, here and of a server") {
  const Scratch scratch;
  const std::string file = scratch.Put("scale.pull", kScale);
  const Words call = {"eval", file, "-e", "scale", "-a", "x=[1, 2]", "-a", "s=3", "--json"};
  for (const Words& place : {Words{"--local"}, Words{"--server", ServerAddress()}}) {
    for (const char* tier : {"baseline", "llvm"}) {
      const CliResult result = Cli(call + place + Words{"--tier", tier});
      CHECK(result.json()["tier"] == tier);
      CHECK(result.json()["value"] == json{3, 6});
    }
  }
  const CliResult wrong = Cli(call + Words{"--local", "--tier", "best"});
  CHECK(wrong.exit_code == 2);
  CHECK(Has(wrong.err, "--tier"));
  const CliResult stages = Cli({"explain", file, "-e", "scale", "--local", "--tier", "baseline"});
  CHECK(Has(stages.out, "==== asm ====\n"));
  CHECK_FALSE(Has(stages.out, "==== llvm ====\n"));
}

TEST_CASE("contractions by a library, here and of a server: the answer says which and how many") {
  const Scratch scratch;
  const std::string file = scratch.Put("product.pull", R"(
fn f(n: i64) -> f64 {
  let a = gen i < n, j < n { f64(i - j) }
  let b = a @ a
  return sum(b * b)
}
)");
  const Words call = {"eval", file, "-e", "f", "-a", "n=30", "--json"};
  const json exact = Answer(Cli(call + Words{"--local"}));
  CHECK_FALSE(exact.contains("contracted_by"));
  for (const Words& place : {Words{"--local"}, Words{"--server", ServerAddress()}}) {
    const json answer = Answer(Cli(call + place + Words{"--contractions", "blas"}));
    CHECK(answer["value"] == exact["value"]);  // of integers
    CHECK(answer["kernel_id"] != exact["kernel_id"]);
    CHECK(answer["contractions"] == 1);
    CHECK(answer["contracted_by"].get<std::string>().find("OpenBLAS ") == 0);
    CHECK_FALSE(
        Answer(Cli(call + place + Words{"--contractions", "exact"})).contains("contractions"));
  }
  const CliResult loops =
      Cli({"explain", file, "-e", "f", "--local", "--stage", "loops", "--contractions", "blas"});
  CHECK(Has(loops.out, "contract %"));
  const CliResult wrong = Cli(call + Words{"--local", "--contractions", "fast"});
  CHECK(wrong.exit_code == 2);
  CHECK(Has(wrong.err, "--contractions"));
}

TEST_CASE("mixed mode can be forced, here and of a server: other code, the same answer") {
  const Scratch scratch;
  const std::string file = scratch.Put("cell.pull", R"(
fn cell(c: f64, z: f64) -> f64 {
  if z > 0.5 { return sin(c) * z }
  return c
}
fn f(c: [n]f64, z: [n]f64) -> f64 { return sum(cell.(c, z)) }
)");
  const Words kernel = {file, "-e", "f", "-t", "value_and_grad"};
  const auto texts = [&](const char* mode) {
    return Cli(Words{"explain"} + kernel + Words{"--local", "--stage", "adjoint", "--mixed", mode})
        .out;
  };
  CHECK(texts("cached") != texts("recomputed"));
  const Words call = Words{"eval"} + kernel + Words{"-a", "c=[1, 2]", "-a", "z=[1, 0]", "--json"};
  const json expected = Answer(Cli(call + Words{"--local"}));
  CHECK(expected["gradients"]["z"][1] == 0);
  for (const Words& place : {Words{"--local"}, Words{"--server", ServerAddress()}}) {
    for (const char* mode : {"cached", "recomputed", "auto"}) {
      const json answer = Answer(Cli(call + place + Words{"--mixed", mode}));
      CHECK(answer["value"] == expected["value"]);
      CHECK(answer["gradients"] == expected["gradients"]);
    }
  }
  const CliResult wrong = Cli(call + Words{"--local", "--mixed", "both"});
  CHECK(wrong.exit_code == 2);
  CHECK(Has(wrong.err, "--mixed"));
}

TEST_CASE("vjp gives gradients, jvp a tangent") {
  const Words call = {"eval",     "-",  "-e",  "scale",   "-a",
                      "x=[1, 2]", "-a", "s=3", "--local", "--json"};
  const json vjp = Cli(call + Words{"-t", "vjp", "--seed", "[10, 100]"}, kScale).json();
  CHECK(vjp["gradients"] == json{{"x", {30, 300}}, {"s", 210}});
  const json jvp =
      Cli(call + Words{"-t", "jvp", "--seed", R"({"s": 1, "x": [1, 0]})"}, kScale).json();
  CHECK(jvp["tangent"] == json{4, 2});
  CHECK_FALSE(jvp.contains("gradients"));
}

TEST_CASE("jacobian, hessian and hvp, here and by a server") {
  const Scratch scratch;
  const std::string file =
      scratch.Put("f.pull",
                  "fn scale(x: [n]f64, s: f64) -> [n]f64 { return gen i < n { s * x[i] } }\n"
                  "fn loss(x: [n]f64, s: f64) -> f64 { return s * s * sum(x * x) }\n");
  const Words args = {"-a", "x=[1, 2]", "-a", "s=3"};
  const auto both = [&](const Words& words) {
    const Words call = Words{"eval", file, "--json"} + args + words;
    const json here = Answer(Cli(call + Words{"--local"}));
    CHECK(here == Answer(Cli(call + Words{"--server", ServerAddress()})));
    return here;
  };
  CHECK(both({"-e", "scale", "-t", "jacobian"})["jacobian"] ==
        json::parse(R"({"x": [[3, 0], [0, 3]], "s": [1, 2]})"));
  const json hessian = both({"-e", "loss", "-t", "hessian"});
  CHECK(hessian["value"] == 45);
  CHECK(hessian["hessian"] == json::parse(R"({"x": {"x": [[18, 0], [0, 18]], "s": [12, 24]},
                                              "s": {"x": [12, 24], "s": 10}})"));
  CHECK(both({"-e", "loss", "-t", "hessian", "--wrt", "s"})["hessian"] ==
        json::parse(R"({"s": {"s": 10}})"));
  const Words seed = {"--seed", R"({"s": 1, "x": [1, 0]})"};
  CHECK(both(Words{"-e", "loss", "-t", "hvp"} + seed)["hvp"] ==
        json::parse(R"({"x": [30, 24], "s": 22})"));
  const auto text = [&](const Words& words) {
    return Cli(Words{"eval", file, "--local"} + args + words).out;
  };
  CHECK(Has(text({"-e", "loss", "-t", "hessian"}), "hessian by s, x = [12.0, 24.0]"));
  CHECK(Has(text({"-e", "scale", "-t", "jacobian"}), "jacobian by s = [1.0, 2.0]"));
  CHECK(Has(text(Words{"-e", "loss", "-t", "hvp"} + seed), "hvp by s = 22.0"));
}

TEST_CASE("jacobian, hessian and hvp: errors") {
  const auto exit_code = [](const std::string& entry, const Words& words) {
    const std::string square = "fn square(x: [n]f64, s: f64) -> f64 { return s * sum(x * x) }\n";
    return Cli(Words{"eval", "-", "-e", entry, "-a", "x=[1, 2]", "-a", "s=3", "--local"} + words,
               kScale + square)
        .exit_code;
  };
  CHECK(exit_code("square", {"-t", "hessian"}) == 0);
  CHECK(exit_code("scale", {"-t", "hessian"}) == 3);                        // not a scalar
  CHECK(exit_code("square", {"-t", "hvp"}) == 2);                           // no seed
  CHECK(exit_code("square", {"-t", "hvp", "--seed", R"({"x": 1})"}) == 3);  // not all of them
  CHECK(exit_code("scale", {"-t", "jacobian", "--seed", "[1, 2]"}) == 2);   // takes none
}

TEST_CASE("sparse jacobians and hessians, here and by a server") {
  const Scratch scratch;
  const std::string file =
      scratch.Put("f.pull",
                  "fn step(x: [n]f64, s: f64) -> [n]f64 { return gen i < n { s * x[i] * [i > 0] * "
                  "x[i - 1] } }\n"
                  "fn loss(x: [n]f64, s: f64) -> f64 { return s * sum(x * x) }\n");
  const Words args = {"-a", "x=[1, 2, 4]", "-a", "s=3", "--sparse"};
  for (const Words& place : {Words{"--local"}, Words{"--server", ServerAddress()}}) {
    const auto answer = [&](const Words& words) {
      return Answer(Cli(Words{"eval", file, "--json"} + args + words + place));
    };
    CHECK(answer({"-e", "step", "-t", "jacobian"})["jacobian"] == json::parse(R"({
        "x": {"seeds": 2, "shape": [3, 3], "coordinates": [[1, 1, 2, 2], [0, 1, 1, 2]],
              "elements": [6, 3, 12, 6]},
        "s": {"seeds": 1, "shape": [3], "coordinates": [[0, 1, 2]], "elements": [0, 2, 8]}})"));
    CHECK(answer({"-e", "loss", "-t", "hessian"})["hessian"]["x"] == json::parse(R"({
        "x": {"seeds": 1, "shape": [3, 3], "coordinates": [[0, 1, 2], [0, 1, 2]],
              "elements": [6, 6, 6]},
        "s": {"seeds": 1, "shape": [3], "coordinates": [[0, 1, 2]], "elements": [2, 4, 8]}})"));
    CHECK(Cli(Words{"eval", file, "-e", "step", "-t", "value"} + args + place).exit_code == 2);
  }
}

TEST_CASE("a miss, then hits: also for a copy with other names and layout") {
  const Scratch scratch;
  const std::string first =
      scratch.Put("first.pull", "fn first(x: f64) -> f64 { return x * x * 31.125 }\n");
  const std::string copy = scratch.Put(
      "copy.pull", "# The same.\nfn second(y: f64) -> f64 {\n\n  return (y * y) * 31.125\n}\n");
  const auto run = [](const std::string& file, const std::string& entry, const std::string& arg) {
    return Cli({"eval", file, "-e", entry, "-a", arg, "-t", "value_and_grad", "--json", "--server",
                ServerAddress()})
        .json();
  };
  const json miss = run(first, "first", "x=2");
  CHECK(miss["cache"] == "miss");
  CHECK_FALSE(miss["timings"]["compile_stages"].empty());
  CHECK(run(first, "first", "x=2")["cache"] == "hit");
  const json renamed = run(copy, "second", "y=2");
  CHECK(renamed["cache"] == "hit");
  CHECK(renamed["kernel_id"] == miss["kernel_id"]);
  CHECK(renamed["gradients"] == json{{"y", 124.5}});
}

TEST_CASE("an error names the place in the text at hand, not in the one that made the kernel") {
  const Scratch scratch;
  const auto at = [&](const std::string& text) {
    return Cli({"eval", scratch.Put("at.pull", text), "-e", "at", "-a", "x=[1]", "-a", "i=5",
                "--server", ServerAddress()});
  };
  CHECK(at("fn at(x: [n]f64, i: i64) -> f64 { return x[i] + 7.25 }").err.find("at.pull:1:42") !=
        std::string::npos);
  CHECK(at("\n\nfn at(x: [n]f64, i: i64) -> f64 {\n  return x[i] + 7.25\n}\n")
            .err.find("at.pull:4:10") != std::string::npos);
}

TEST_CASE("explain: one stage, several, all") {
  const Words pow = {"explain", SourceFile("docs/examples/pow.pull"), "-e", "pow"};
  const Words place = {"--server", ServerAddress()};
  const CliResult one = Cli(pow + Words{"-t", "value_and_grad", "--stage", "adjoint"} + place);
  CHECK(one.exit_code == 0);
  CHECK(one.out.find("fn @") != std::string::npos);
  const CliResult here = Cli(pow + Words{"-t", "value_and_grad", "--stage", "adjoint", "--local"});
  CHECK(here.out == one.out);
  const json some = Cli(pow + Words{"--stage", "ssa,cost", "--json"} + place).json();
  CHECK(some["stages"].size() == 2);
  const CliResult all = Cli(pow + place);
  CHECK(all.exit_code == 0);
  CHECK(all.out.find("==== asm ====") != std::string::npos);
  CHECK(Cli(pow + Words{"--stage", "nope", "--local"}).exit_code == 2);
}

TEST_CASE("explain counts the operations of a run where it has arguments") {
  const Words pow = {"explain", SourceFile("docs/examples/pow.pull"),
                     "-e",      "pow",
                     "--stage", "cost",
                     "-a",      "x=2",
                     "-a",      "n=5"};
  const CliResult local = Cli(pow + Words{"--local"});
  INFO(local.err);
  CHECK(local.exit_code == 0);
  CHECK_NOTHROW(local.json());
  CHECK(Cli(pow + Words{"--server", ServerAddress()}).exit_code == 2);
}

TEST_CASE("bench compares a function with its derivative") {
  const json result = Cli({"bench", SourceFile("docs/examples/pow.pull"), "-e", "pow", "-a", "x=1",
                           "-a", "n=1000", "--runs", "20", "--json"})
                          .json();
  CHECK(result["runs"] == 20);
  CHECK(result["ratio"] > 0);
  CHECK(result["primal"]["execute_seconds"] > 0);
  CHECK(result["derivative"]["call_seconds"] > 0);
  const json sparse = Cli({"bench", SourceFile("docs/examples/diag.pull"), "-e", "diag", "-t",
                           "jacobian", "--sparse", "-a", "x=[1,2,3]", "--runs", "5", "--json"})
                          .json();
  CHECK(sparse["runs"] == 5);
}

TEST_CASE("info tells the version and the load") {
  const json info = Cli({"info", "--server", ServerAddress(), "--json"}).json();
  CHECK(info["backend"] == "llvm");
  CHECK(info["threads"] >= 1);
  CHECK(Cli({"info", "--local"}).out.find("build_id") != std::string::npos);
  CHECK(Cli({"--version"}).out.find("pullback ") == 0);
}

}  // namespace
}  // namespace pullback::test
