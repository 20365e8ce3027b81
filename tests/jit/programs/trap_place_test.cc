// Where a run ends is the same, whatever the tier and the options: kind, place and details of a trap, of values and of
// derivatives. The reference is the interpreter on what lowering wrote.
#include <catch2/catch.hpp>
#include <set>

#include "core/eval/interpreter.h"
#include "core/loops/lower.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/lang/lower_support.h"
#include "tests/jit/llvm_support.h"

namespace pullback {
namespace {

using pipeline::Transform;

// A negative size is its only detail.
struct Place {
  int kind = 0;
  uint32_t loc = 0;
  int64_t a = 0, b = 0;
  auto operator<=>(const Place&) const = default;
};

std::string Text(const Place& p) {
  return "kind " + std::to_string(p.kind) + " !" + std::to_string(p.loc) + " (" +
         std::to_string(p.a) + ", " + std::to_string(p.b) + ")";
}

Place Made(int kind, uint32_t loc, int64_t a, int64_t b) {
  return {kind, loc, a, kind == static_cast<int>(ir::TrapKind::kNegativeSize) ? 0 : b};
}

Place Interpreted(const ir::Module& module, const std::vector<Tensor>& args) {
  const auto result = eval::Run(module, args);
  REQUIRE(result.ok());
  if (!result->trap) return {};
  return Made(static_cast<int>(result->trap->kind), result->trap->loc, result->trap->a,
              result->trap->b);
}

Place Compiled(const ir::Module& module, const std::vector<Tensor>& args, int level, bool library) {
  loops::LowerOptions options;
  options.contractions = library;
  const auto loops = loops::LowerToLoops(module, options);
  REQUIRE(loops.ok());
  jit::TestKernel kernel(*loops, level);
  kernel.Run(args);
  const jit::RunContext& c = kernel.context;
  return Made(c.trap_kind, c.trap_loc, c.trap_a, c.trap_b);
}

// All places where the program ends by different ways of running it, the interpreter's on the program as it was
// written the first.
std::vector<Place> PlacesOf(const std::string& text, const std::vector<Tensor>& args, Transform t) {
  const ir::Module ssa = lang::LowerText(text);
  std::vector<bool> wrt;
  std::vector<Tensor> all = args, dots;
  const ir::Function& f = ssa.Get(ssa.entry);
  for (ir::Value v : f.params()) wrt.push_back(f.TypeOf(v).IsFloat());
  for (size_t k = 0; k < args.size(); ++k) {
    if (t == Transform::kJvp && wrt[k]) dots.push_back(args[k]);
  }
  all.insert(all.end(), dots.begin(), dots.end());
  std::vector<Place> places;
  for (const bool optimise : {false, true}) {
    pipeline::Options options;
    options.optimise = optimise;
    const auto staged = pipeline::Derive(ssa, t, wrt, options);
    INFO(staged.status().ToString());
    REQUIRE(staged.ok());
    places.push_back(Interpreted(staged->final, all));
    for (const int level : {jit::kTierZero, 2}) {
      for (const bool library : {false, true}) {
        places.push_back(Compiled(staged->final, all, level, library));
      }
    }
  }
  return places;
}

const Tensor kA = Tensor::Of(DType::kF64, {2, 2}, std::vector<double>{1, 2, 3, 4});
const Tensor kX = Tensor::Of(DType::kF64, {3}, std::vector<double>{1, 2, 4});

struct Case {
  std::string text;
  std::vector<Tensor> args;
  std::string source;  // of the trap
};

std::vector<Case> SingleTraps() {
  const Tensor two = Tensor::I64(2), three = Tensor::I64(3), five = Tensor::I64(5),
               minus = Tensor::I64(-3);
  const Tensor b = Tensor::Of(DType::kF64, {3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6});
  const std::string product =
      "fn f(a: [n, q]f64, b: [r, m]f64, p: i64) -> f64 { let c = gen i < n, j < m {\n"
      " sum k < p { a[i, k] * b[k, j] } }\n return sum(c * c) }";
  return {
      {product, {kA, b, three}, "a[i, k]"},
      {product,
       {Tensor::Of(DType::kF64, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6}), kA, three},
       "b[k, j]"},
      {product, {kA, b, minus}, "sum k < p { a[i, k] * b[k, j] }"},
      {"fn f(x: [n]f64, k: i64) -> f64 { return sin(x[0]) * x[k] }", {kX, five}, "x[k]"},
      {"fn f(x: [n]f64, k: [m]i64) -> f64 { return sum i < m { sin(x[k[i]]) } }",
       {kX, Tensor::Of<int64_t>(DType::kI64, {3}, {0, 7, 1})},
       "x[k[i]]"},
      {"fn g(x: f64, k: i64) -> f64 { if x > 1.0 { return x * f64(7 / k) } return x }\n"
       "fn f(x: [n]f64, k: [n]i64) -> f64 { return sum i < n { g(x[i], k[i]) } }",
       {kX, Tensor::Of<int64_t>(DType::kI64, {3}, {0, 2, 0})},
       "7 / k"},
      {"fn f(x: [n]f64, k: i64) -> f64 { var y = x\n for i < 3 { y[k] = y[k - i] * x[i] }\n"
       " return sum(y) }",
       {
           kX,
           two,
       },
       ""},
      {"fn f(x: [n]f64, k: i64) -> f64 { var y = x\n for i < 3 { y[i] = y[k - i] * x[i] }\n"
       " return sum(y) }",
       {kX, three},
       "y[k - i]"},
      {"fn f(x: [n]f64, p: i64) -> f64 { var s = x[0]\n for i < 3 {\n"
       " s = s * x[i] + sum j < p { x[j] * x[j] } }\n return s }",
       {kX, five},
       "x[j]"},
      {"fn f(a: [n, m]f64, k: i64) -> f64 { return sum([k > 0] * a[k] * a[k]) }",
       {kA, five},
       "a[k]"},
      {"fn f(x: f64, k: i64) -> f64 { return sum(gen i < 2 { gen j < k { x * x } }) }",
       {Tensor::F64(2), minus},
       ""},
      {"fn row(t: [n]f64, k: i64) -> [n]f64 { return t * t[k] }\n"
       "fn f(x: [n]f64, k: i64) -> f64 { return sum([k > 0] * checkpoint(row)(x, k)) }",
       {kX, five},
       "t[k]"},
      {"fn f(x: [n]f64, k: i64) -> f64 {\n"
       " return sum([k > 0] * grad(|t| t[k] * t[k])(x)) }",
       {kX, five},
       ""},
      {"fn f(x: [n]f64, k: i64) -> f64 {\n"
       " return sum([k > 0] * fold(|s, i| s * s[k], x, 2)) }",
       {kX, five},
       "s[k]"},
      {"fn f(x: [n]f64, k: i64) -> f64 {\n"
       " return sum([k > 0] * checkpoint(|t| t * t)(x) * (gen i < k { x[0] })) }",
       {kX, five},
       ""},
      {"fn f(a: [n, m]f64) -> f64 { return sum(gen i < n { [i > 0] * a[i + 1] }) }",
       {kA},
       "a[i + 1]"},
      {"fn f(x: [n]f64, m: i64) -> f64 { let y = gen i < m { x[0] * x[0] }\n"
       " return sum(y) * f64(len(y)) }",
       {kX, minus},
       "gen i < m { x[0] * x[0] }"},
  };
}

TEST_CASE("traps: one that a run meets ends it at one place, whatever the tier and the options") {
  for (const Case& c : SingleTraps()) {
    for (const Transform t : {Transform::kValue, Transform::kValueAndGrad, Transform::kJvp}) {
      INFO(c.text << "\n" << pipeline::TransformName(t));
      const std::vector<Place> places = PlacesOf(c.text, c.args, t);
      for (size_t k = 0; k < places.size(); ++k) {
        INFO(k << ": " << Text(places[k]) << ", first " << Text(places[0]));
        CHECK(places[k] == places[0]);
      }
      if (c.source.empty()) continue;
      REQUIRE(places[0].kind != 0);
      CHECK(lang::SourceOf(c.text, "f", places[0].loc) == c.source);
    }
  }
}

// Sizes of what a bracket guards are looked for beforehand; of nothing else.
TEST_CASE("traps: sizes trap where they are made, and in loops that run only") {
  const std::string cut =
      "fn cut(t: [n]f64, k: i64) -> [k]f64 { return gen i < k { t[i % len(t)] * t[0] } }\n";
  const Tensor minus = Tensor::I64(-3), one = Tensor::I64(1), none = Tensor::I64(0);
  const Case cases[] = {
      {cut + "fn f(x: [n]f64, k: i64) -> f64 { return sum(sum a < 2 { checkpoint(cut)(x, k) }) }",
       {kX, minus},
       "gen i < k { t[i % len(t)] * t[0] }"},
      {cut + "fn f(x: [n]f64, k: i64, m: i64) -> f64 { return sum([m > 0] * (sum a < 2 { cut(x, k) "
             "})) }",
       {kX, minus, one},
       "gen i < k { t[i % len(t)] * t[0] }"},
      {"fn f(x: [n]f64, k: i64, m: i64) -> f64 { return sum([m > 0] * (sum a < 2 {\n"
       " (|t: [_]f64| gen i < k { t[i] })(x) })) }",
       {kX, minus, one},
       "gen i < k { t[i] }"},
      {cut + "fn f(x: [n]f64, k: i64, m: i64) -> f64 { return sum(sum a < m { checkpoint(cut)(x, "
             "k) }) }",
       {kX, minus, none},
       ""},
  };
  for (const Case& c : cases) {
    for (const Place& p : PlacesOf(c.text, c.args, Transform::kValue)) {
      INFO(c.text << "\n" << Text(p));
      CHECK((p.kind == 0) == c.source.empty());
      if (!c.source.empty()) CHECK(lang::SourceOf(c.text, "f", p.loc) == c.source);
    }
  }
}

TEST_CASE("traps: where only a cotangent is added they name what the program reads") {
  const Tensor k = Tensor::Of<int64_t>(DType::kI64, {3}, {0, 7, 1});
  const Case cases[] = {
      {"fn g(x: [n]f64, p: i64) -> f64 { return sum i < p { 2.0 * x[i] } }\n"
       "fn f(x: [n]f64, p: i64) -> [n]f64 { return grad(g)(x, p) }",
       {kX, Tensor::I64(4)},
       "x[i]"},
      {"fn g(x: [n]f64, k: [m]i64) -> f64 { return sum i < m { x[k[i]] } }\n"
       "fn f(x: [n]f64, k: [m]i64) -> [n]f64 { return grad(g)(x, k) }",
       {kX, k},
       "x[k[i]]"},
      {"fn g(x: [n]f64, y: [m]f64) -> f64 { return sum i < n { x[i] - 3.0 * y[i + 1] } }\n"
       "fn f(x: [n]f64, y: [m]f64) -> [m]f64 { return grad(|v| g(x, v))(y) }",
       {kX, kX},
       "y[i + 1]"},
      {"fn g(a: [n, m]f64, p: i64) -> f64 { let y = gen i < p { a[i, 1] }\n return 2.0 * sum(y) }\n"
       "fn f(a: [n, m]f64, p: i64) -> [n, m]f64 { return grad(g)(a, p) }",
       {kA, Tensor::I64(3)},
       "a[i, 1]"},
  };
  for (const Case& c : cases) {
    const std::vector<Place> places = PlacesOf(c.text, c.args, Transform::kValue);
    INFO(c.text << "\n" << Text(places[0]));
    REQUIRE(places[0].kind == static_cast<int>(ir::TrapKind::kIndex));
    CHECK(lang::SourceOf(c.text, "f", places[0].loc) == c.source);
    // The element itself is needed by nobody, so that optimised code may do without.
    for (const Place& p : places) CHECK((p == places[0] || p.kind == 0));
  }
}

// docs/language.md, Errors: where a run would meet several, it ends at one of them.
TEST_CASE("traps: of several that a run would meet it ends at one") {
  struct Several {
    std::string text;
    std::vector<Tensor> args;
    std::set<std::string> sources;
  };
  const Tensor four = Tensor::I64(4);
  const std::vector<Several> all = {
      {"fn f(x: [n]f64, p: i64) -> f64 { return sum i < p { x[i] * x[i + 1] } }",
       {kX, four},
       {"x[i]", "x[i + 1]"}},
      {"fn f(x: [n]f64, p: i64) -> f64 { var s = 0.0\n for i < p { s = s * 0.5 + sin(x[i + 1]) }\n"
       " return s }",
       {kX, four},
       {"x[i + 1]"}},
      {"fn f(x: [n]f64, p: i64) -> f64 { let y = x[p]\n return sum i < p { x[i] * x[i] } }",
       {kX, four},
       {"x[p]", "x[i]"}},
  };
  for (const Several& c : all) {
    for (const Transform t : {Transform::kValue, Transform::kValueAndGrad, Transform::kJvp}) {
      INFO(c.text << "\n" << pipeline::TransformName(t));
      for (const Place& p : PlacesOf(c.text, c.args, t)) {
        REQUIRE(p.kind == static_cast<int>(ir::TrapKind::kIndex));
        CHECK(c.sources.count(lang::SourceOf(c.text, "f", p.loc)) == 1);
      }
    }
  }
}

}  // namespace
}  // namespace pullback
