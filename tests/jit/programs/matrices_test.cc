// Jacobians, Hessians and their products of first and generated programs: compiled code gives the
// interpreter's bits, and those agree with differences.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/generator.h"
#include "tests/support/matrices.h"
#include "tests/support/programs.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Tensor> WithTangents(const std::vector<Tensor>& args) {
  std::vector<Tensor> out = args;
  for (const Tensor& t : args) {
    if (t.dtype == DType::kF64 || t.dtype == DType::kF32) out.push_back(t);
  }
  return out;
}

void CheckCompiled(const ir::Module& ssa, const std::vector<Tensor>& args, bool optimise) {
  CheckBitwise(Derived(ssa, Transform::kJacobian, {}, optimise), args);
  if (!GivesFloatScalar(ssa)) return;
  CheckBitwise(Derived(ssa, Transform::kHessian, {}, optimise), args);
  CheckBitwise(Derived(ssa, Transform::kHvp, {}, optimise), WithTangents(args));
}

TEST_CASE("first programs: compiled Jacobians and Hessians give the interpreter's bits") {
  for (const ProgramCase& c : FirstPrograms()) {
    int64_t elements = 0;
    for (const Tensor& t : c.args) elements += t.ElementCount();
    if (elements > 60) continue;
    SECTION(c.name) {
      INFO(c.name);
      CheckCompiled(LowerText(c.text, c.entry), c.args, true);
    }
  }
}

// Several chunks of seeds, of which the last is shorter: of the Jacobian, since there are many rows; of the
// Hessian, since its tape is kept.
TEST_CASE("compiled Jacobians and Hessians in chunks of seeds") {
  std::vector<double> x;
  for (int i = 0; i < 70; ++i) x.push_back(0.3 + 0.01 * (i % 13));
  const std::string loop =
      "  var s = 0.5\n  for i in 1..n {\n    s = sin(s * x[i]) + y[i - 1]\n"
      "    if i % 3 == 0 { y[i] = s * x[i] + y[i - 1] } else { y[i] += s }\n  }\n";
  CheckCompiled(LowerText("fn f(x: [n]f64) -> [5000]f64 {\n  var y = gen i < 5000 { 0.0 }\n" +
                              loop + "  return y }",
                          "f"),
                {Vec(x)}, true);
  const std::vector<double> few(x.begin(), x.begin() + 37);
  CheckCompiled(
      LowerText("fn f(x: [n]f64) -> f64 {\n  var y = x\n" + loop + "  return y[n - 1] * s }", "f"),
      {Vec(few)}, true);
}

// Lists with an axis of seeds; more than 16 rows, and many more columns: chunks of cotangents.
TEST_CASE("compiled Jacobians in chunks: lists, trees, cotangents") {
  std::vector<double> x;
  for (int i = 0; i < 120; ++i) x.push_back(0.3 + 0.01 * (i % 13));
  CheckCompiled(LowerText("fn f(x: [n]f64) -> [n]f64 {\n  var l = list(x[0])\n"
                          "  for i in 1..n { l = push(l, x[i] * sin(l[i - 1])) }\n"
                          "  return gen i < n { x[i] * l[i] } }",
                          "f"),
                {Vec(x)}, true);
  CheckCompiled(
      LowerText("struct Node { value: f64, kids: list Node }\n"
                "fn total(t: Node) -> f64 {\n  var s = t.value\n"
                "  for k in t.kids { s = sin(s + total(k)) }\n  return s }\n"
                "fn grow(x: [n]f64, i: i64) -> Node {\n  var t = Node(x[i], list())\n"
                "  if 2 * i + 1 < n { t.kids = push(t.kids, grow(x, 2 * i + 1)) }\n"
                "  if 2 * i + 2 < n { t.kids = push(t.kids, grow(x, 2 * i + 2)) }\n  return t }\n"
                "fn f(x: [n]f64) -> f64 { return total(grow(x, 0)) }",
                "f"),
      {Vec({x.begin(), x.begin() + 21})}, true);
  CheckCompiled(LowerText("fn f(x: [n]f64, m: i64) -> [20]f64 {\n  var u = x\n"
                          "  for t in 0..m { u = gen i < n { if i > 0 { sin(u[i - 1]) * u[i] } "
                          "else { u[i] } } }\n"
                          "  for i in 1..n { u[i] += u[i - 1] * x[0] }\n"
                          "  return gen i < 20 { u[5 * i] } }",
                          "f"),
                {Vec(x), Tensor::I64(3)}, true);
}

TEST_CASE("compiled operators in chunks of seeds give the interpreter's bits") {
  const std::string sequence =
      "fn g(x: [n]f64) -> [n]f64 {\n  var y = x\n  var s = 0.5\n"
      "  for i in 1..n {\n    s = sin(s * x[i]) + y[i - 1]\n    y[i] = s * x[i] + y[i - 1]\n  }\n"
      "  return y }\n"
      "fn h(x: [n]f64) -> f64 { return g(x)[n - 1] * g(x)[1] }\n";
  for (const std::string f :
       {"fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n"
        "  for t in 0..2 {\n    let j = jacobian(g)(y)\n    let r = g(y)\n"
        "    y = gen i < n { y[i] - 0.1 * r[i] / j[i, i] }\n  }\n  return y }",
        "fn f(x: [n]f64) -> [n, n]f64 { return hessian(h)(x) }",
        "struct Ball { at: [2]f64, id: i64, v: f64 }\n"
        "fn step(bs: [n]Ball) -> [n]Ball {\n  var r = bs\n  for i in 1..n {\n"
        "    r[i].v = r[i - 1].v * bs[i].v\n"
        "    r[i].at = gen k < 2 { bs[i].at[k] * sin(r[i].v) }\n  }\n  return r }\n"
        "fn f(x: [n]f64) -> (([n, 2, n, 2]f64, [n, 2, n]f64), ([n, n, 2]f64, [n, n]f64)) {\n"
        "  return jacobian(step)(gen i < n { Ball(gen k < 2 { x[i] + f64(k) }, i, x[i]) }) }"}) {
    CheckBitwise(Derived(LowerText(sequence + f, "f"), Transform::kValue, {}, true),
                 {Vec({0.4, 1.3, 0.7, 0.9, 1.1, 0.2, 0.8})});
  }
}

// Whose patterns are of scans, lists, and rules: what finds them is code, too.
TEST_CASE("compiled sparse Jacobians and Hessians give the interpreter's bits") {
  const Tensor x = Vec({0.5, -1.25, 2.0, 0.75, 1.5, -0.5, 0.25});
  const char* const programs[] = {
      "fn f(x: [n]f64) -> [n]f64 { return scan sum i < n { x[i] * x[i] } }",
      "fn f(x: [n]f64) -> [n]f64 {\n  var u = x\n"
      "  for t in 0..2 { u = scan max i < n { u[i] * x[i] } }\n  return u }",
      "fn f(x: [n]f64) -> [n]f64 {\n"
      "  let states = scan(|s, i| (s.0 * x[i], s.1 + s.0), (1.0, 0.0), n)\n"
      "  return gen i < n { states[i].1 } }",
      "struct P { at: [_]f64, id: i64, w: f64 }\n"
      "fn f(x: [n]f64) -> [n]f64 {\n  var ps: list P = list()\n"
      "  for i in 0..n { ps = push(ps, P(gen j < 2 { x[i] * [j == 0] }, i, 1.0)) }\n"
      "  for i in 1..n { ps[i].at[1] = x[i - 1] * ps[i].w }\n"
      "  return gen i < n { ps[i].at[0] * ps[i].at[1] * ps[i].w } }",
      "fn g(x: [n]f64) -> [n]f64 with vjp back { return gen i < n { x[n - 1] } }\n"
      "fn back(x: [n]f64, b: [n]f64) -> [n]f64 { return gen i < n { b[i] * x[i] } }\n"
      "fn f(x: [n]f64) -> [n]f64 { return g(gen i < n { x[i] * x[i] }) }",
      "fn f(x: [n]f64) -> f64 {\n  var xs: list f64 = list()\n"
      "  for i in 0..n { xs = push(xs, x[i] * x[i]) }\n  var s = 0.0\n"
      "  for i in 1..n { s += xs[i] * xs[i - 1] }\n  return s }"};
  for (const char* text : programs) {
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    pipeline::Options options;
    options.sparse = true;
    const Transform transform = GivesFloatScalar(ssa) ? Transform::kHessian : Transform::kJacobian;
    auto staged = pipeline::Derive(ssa, transform, {true}, options);
    INFO(staged.status().ToString());
    REQUIRE(staged.ok());
    CheckBitwise(staged->final, {x});
  }
}

uint32_t ProgramCount(uint32_t otherwise) {
  const char* text = std::getenv("PULLBACK_PROGRAMS");
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

TEST_CASE("generated programs: Jacobians and Hessians against differences, and compiled") {
  Coverage coverage;
  for (Kind kind : {Kind::kControlFlow, Kind::kTensor}) {
    for (uint32_t seed = 0; seed < ProgramCount(6); ++seed) {
      const GeneratedProgram p = GenerateProgram(kind, 5000 + seed, &coverage);
      INFO("seed " << 5000 + seed << "\n" << p.text);
      const ir::Module ssa = LowerText(p.text, p.entry);
      CheckJacobian(ssa, p.args, true, 1e-4);
      if (GivesFloatScalar(ssa)) CheckHessian(ssa, p.args, true, 1e-3);
      CheckCompiled(ssa, p.args, seed % 2 == 0);
    }
  }
}

}  // namespace
}  // namespace pullback::testing
