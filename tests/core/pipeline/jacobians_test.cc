// Jacobians and Hessians by seeding with [k = i]: tests/filetests/jacobians/*.pull, program text in, final
// IR out; by the parameter x.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/ir/filetest.h"
#include "tests/support/derivatives.h"
#include "tests/support/pass_files.h"

namespace pullback::pipeline {
namespace {

ir::Module Matrix(const std::string& program, Transform transform, bool optimise) {
  const ir::Module lowered = testing::LowerText(program, "f");
  const ir::Function& f = lowered.Get(lowered.entry);
  std::vector<bool> wrt;
  for (ir::Value v : f.params()) wrt.push_back(f.names[v.id] == "x");
  Options options;
  options.optimise = optimise;
  StatusOr<Staged> staged = Derive(lowered, transform, wrt, options);
  REQUIRE(staged.ok());
  return std::move(staged->final);
}

void CheckFile(const char* file, Transform transform) {
  const std::string path = std::string("tests/filetests/jacobians/") + file;
  ir::filetest::RunFile(path, [&](const std::string& program) {
    return ir::Print(Matrix(program, transform, true));
  });
  // Not optimised, it is a loop over seeds.
  testing::ForEachRun(path, [&](const auto& c, const std::string& args) {
    testing::CheckSameResults(Matrix(c.before, transform, false), Matrix(c.before, transform, true),
                              args);
  });
}

TEST_CASE("pipeline: Jacobians by seeding") { CheckFile("jacobian.pull", Transform::kJacobian); }
TEST_CASE("pipeline: Hessians by seeding") { CheckFile("hessian.pull", Transform::kHessian); }
TEST_CASE("pipeline: operators by seeding") { CheckFile("operators.pull", Transform::kValue); }

// An array between the blocks would have an axis of seeds: the loop over seeds holds one column at a time.
TEST_CASE("pipeline: a dense chain keeps its loop over seeds") {
  const ir::Module m =
      Matrix("fn f(x: [n]f64, a: [m, n]f64, b: [m, m]f64) -> [m]f64 { return b @ tanh.(a @ x) }",
             Transform::kJacobian, true);
  CHECK(m.Get(m.entry).blocks.size() > 1);
}

// Operators on code with control flow.
struct Operator {
  const char* text;
  bool chunks;  // of seeds, rather than a loop over them
};

bool HasChunks(const ir::Module& m) {
  return std::any_of(m.functions.begin(), m.functions.end(), [](const auto& f) {
    return std::find(f->names.begin(), f->names.end(), "seeds") != f->names.end();
  });
}

Staged DeriveOperators(const std::string& text, Transform transform, bool optimise) {
  const ir::Module ssa = testing::LowerText(text, "f");
  Options options;
  options.optimise = optimise;
  std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
  auto staged = Derive(ssa, transform, wrt, options);
  INFO(staged.status().ToString());
  REQUIRE(staged.ok());
  return std::move(*staged);
}

TEST_CASE("pipeline: Jacobians of bodies that call functions with rules") {
  const std::string rule =
      "fn r(x: f64) -> f64 with jvp forth { return round(x) }\n"
      "fn forth(x: f64, v: f64) -> (f64, f64) { return (round(x), v * x) }\n";
  for (const char* f : {"fn f(x: [n]f64) -> [n]f64 { return gen i < n { r(x[i]) } }",
                        "fn f(x: [n]f64) -> f64 { return sum i < n { r(x[i]) } }",
                        "fn f(x: [n]f64) -> [n]f64 { return r.(x) }"}) {
    INFO(f);
    const std::vector<Tensor> args = {testing::Vec({0.4, 1.3, 2.7})};
    const auto got =
        testing::RunOk(DeriveOperators(rule + f, Transform::kJacobian, true).final, args);
    const auto want =
        testing::RunOk(DeriveOperators(rule + f, Transform::kJacobian, false).final, args);
    REQUIRE(got.size() == want.size());
    for (size_t k = 0; k < got.size(); ++k) {
      CHECK(got[k].shape == want[k].shape);
      CHECK(testing::Doubles(got[k]) == testing::Doubles(want[k]));
    }
  }
}

TEST_CASE("pipeline: operators in chunks of seeds") {
  const std::string sequence =
      "fn g(x: [n]f64) -> [n]f64 {\n  var y = x\n  var s = 0.5\n"
      "  for i in 1..n {\n    s = sin(s * x[i]) + y[i - 1]\n    y[i] = s * x[i] + y[i - 1]\n  }\n"
      "  return y }\n"
      "fn h(x: [n]f64) -> f64 { return g(x)[n - 1] * g(x)[1] }\n";
  const Operator operators[] = {
      {"fn f(x: [n]f64) -> [n, n]f64 { return jacobian(g)(x) }", true},
      {"fn f(x: [n]f64) -> [n, n]f64 { return hessian(h)(x) }", true},
      {"fn f(x: [n]f64) -> f64 {\n  let j = jacobian(|t| g(t * x[0]))(x)\n"
       "  return sum i < n { j[i, i] } }",
       true},
      // Newton's method: the operator is in a loop itself.
      {"fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n"
       "  for t in 0..2 {\n    let j = jacobian(g)(y)\n    let r = g(y)\n"
       "    y = gen i < n { y[i] - 0.1 * r[i] / j[i, i] }\n  }\n  return y }",
       true},
      {"fn f(x: [n]f64) -> ([n, n]f64, [n]f64) {\n"
       "  let l = jacobian(|t| { var xs: list f64 = list()\n"
       "    for i < n { xs = push(xs, t[i] * x[0]) }\n"
       "    gen i < n { xs[i] * xs[0] } })(x)\n  return (l, x) }",
       true},
      // A chain of dense maps, where an array between the blocks would have an axis of seeds.
      {"fn f(x: [n]f64) -> f64 {\n  let a = gen i < n, j < n { f64(i - j) * 0.1 }\n"
       "  return sum(jacobian(|t| a @ tanh.(a @ t))(x)) }",
       true},
      // What is differentiated again keeps one seed at a time.
      {"fn f(x: [n]f64) -> [n]f64 {\n"
       "  return grad(|t| { let j = jacobian(g)(t); sum i < n { j[i, i] } })(x) }",
       false}};
  const std::vector<Tensor> args = {testing::Vec({0.4, 1.3, 0.7, 0.9, 1.1, 0.2, 0.8})};
  for (const Operator& o : operators) {
    INFO(o.text);
    const std::string text = sequence + o.text;
    const Staged fast = DeriveOperators(text, Transform::kValue, true);
    CHECK(HasChunks(fast.adjoint) == o.chunks);
    const auto got = testing::RunOk(fast.final, args);
    const auto want = testing::RunOk(DeriveOperators(text, Transform::kValue, false).final, args);
    REQUIRE(got.size() == want.size());
    for (size_t k = 0; k < got.size(); ++k) {
      CHECK(got[k].shape == want[k].shape);
      const auto a = testing::Doubles(got[k]), b = testing::Doubles(want[k]);
      for (size_t i = 0; i < a.size(); ++i)
        CHECK(a[i] == Approx(b[i]).epsilon(1e-11).margin(1e-12));
    }
  }
  const std::string trace =
      "fn f(x: [n]f64) -> f64 {\n  let j = jacobian(g)(x)\n  return sum i < n { j[i, i] } }";
  CHECK(!HasChunks(DeriveOperators(sequence + trace, Transform::kValueAndGrad, true).adjoint));
}

// Against the same function of plain arrays, by statements and by a loop.
TEST_CASE("pipeline: operators on arrays of structs") {
  const std::string common = "struct Ball { at: [2]f64, id: i64, v: f64 }\n";
  const std::string steps[] = {
      "fn step(bs: [n]Ball) -> [n]Ball {\n"
      "  return gen i < n { Ball(gen k < 2 { bs[i].at[k] * bs[i].v }, bs[i].id, sin(bs[i].v)) } }\n"
      "fn plain(at: [n, 2]f64, v: [n]f64) -> ([n, 2]f64, [n]f64) {\n"
      "  return (gen i < n, k < 2 { at[i, k] * v[i] }, gen i < n { sin(v[i]) }) }\n",
      "fn step(bs: [n]Ball) -> [n]Ball {\n  var r = bs\n  for i in 1..n {\n"
      "    r[i].v = r[i - 1].v * bs[i].v\n"
      "    r[i].at = gen k < 2 { bs[i].at[k] * sin(r[i].v) }\n  }\n  return r }\n"
      "fn plain(at: [n, 2]f64, v: [n]f64) -> ([n, 2]f64, [n]f64) {\n  var r = at\n  var w = v\n"
      "  for i in 1..n {\n    w[i] = w[i - 1] * v[i]\n"
      "    for k in 0..2 { r[i, k] = at[i, k] * sin(w[i]) }\n  }\n  return (r, w) }\n"};
  const std::string start =
      "fn at(x: [n]f64) -> [n, 2]f64 { return gen i < n, k < 2 { x[i] + f64(k) } }\n"
      "fn f(x: [n]f64) -> (([n, 2, n, 2]f64, [n, 2, n]f64), ([n, n, 2]f64, [n, n]f64)) {\n";
  const std::string structs =
      "  return jacobian(step)(gen i < n { Ball(gen k < 2 { x[i] + f64(k) }, i, x[i]) }) }";
  const std::vector<Tensor> args = {testing::Vec({0.4, 1.3, 0.7})};
  for (const std::string& step : steps) {
    const std::string text = common + step + start;
    for (const bool optimise : {false, true}) {
      const auto got =
          testing::RunOk(DeriveOperators(text + structs, Transform::kValue, optimise).final, args);
      const auto want = testing::RunOk(
          DeriveOperators(text + "  return jacobian(plain)(at(x), x) }", Transform::kValue, false)
              .final,
          args);
      REQUIRE(got.size() == 4);
      REQUIRE(want.size() == 4);
      for (size_t k = 0; k < got.size(); ++k) {
        CHECK(got[k].shape == want[k].shape);
        const auto a = testing::Doubles(got[k]), b = testing::Doubles(want[k]);
        for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).margin(1e-14));
      }
    }
  }
}

}  // namespace
}  // namespace pullback::pipeline
