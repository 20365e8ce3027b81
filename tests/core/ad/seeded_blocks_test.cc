// Many seeds at once through control flow against one seed after the other.
#include "core/ad/seeded_blocks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "core/ad/adjoint.h"
#include "core/ad/operators.h"
#include "core/ir/jacobian.h"
#include "core/ir/verifier.h"
#include "tests/support/derivatives.h"
#include "tests/support/generator.h"
#include "tests/support/random_list_program.h"

namespace pullback::ad {
namespace {

using testing::Vec;

enum class Of : uint8_t { kJacobian, kCotangents, kHessian };

void Derive(ir::Module& m) {
  while (HasOperators(m)) REQUIRE(DeriveInnermost(m).ok());
  INFO(Verify(m).ToString());
  REQUIRE(Verify(m).ok());
}

// Chunks of three seeds, whatever the sizes: the last one is shorter.
constexpr ChunkSizes kSmall = {1, 3, 3, int64_t{1} << 20};
// Likewise, of cotangents.
constexpr ChunkSizes kSmallRows = {1, 3, 3, 0, 0};

bool HasChunksOfRows(const ir::Module& m) {
  return std::any_of(m.functions.begin(), m.functions.end(),
                     [](const auto& f) { return f->name.find(".pulled") != std::string::npos; });
}

// What both ways give; false where the code has no form for many seeds.
bool CheckSeeds(const ir::Module& ssa, const std::vector<Tensor>& args, Of of, double epsilon) {
  const std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
  const auto cleaned = pipeline::Derive(ssa, pipeline::Transform::kValue, wrt, {});
  REQUIRE(cleaned.ok());
  ir::Module m = cleaned->ssa.Clone();
  if (of == Of::kHessian) {
    const auto gradient = BuildGradient(m, m.entry, wrt, Seed::kOne);
    REQUIRE(gradient.ok());
    m.entry = *gradient;
  }
  JacobianRows rows{std::vector<bool>(m.Get(m.entry).results.size(), true), {}};
  for (ir::Type t : m.Get(m.entry).results) {
    if (t.HasRecord()) return false;
    rows.differentiated.push_back(t.IsFloat());
  }
  if (of == Of::kHessian) {
    rows.given.assign(rows.given.size(), false);
    rows.given[0] = true;
    rows.differentiated[0] = false;
  }
  const size_t parameters = rows.differentiated.size() - 1;
  ir::Module one = m.Clone();
  const bool cotangents = of == Of::kCotangents;
  one.entry = cotangents ? ir::AddReverseJacobian(one, one.entry, wrt)
                         : ir::AddForwardJacobian(one, one.entry, wrt);
  const auto made =
      SeedInChunks(m, m.entry, wrt, rows, of == Of::kHessian, cotangents ? kSmallRows : kSmall);
  REQUIRE(made.ok());
  if (!*made) return false;
  m.entry = **made;
  if (cotangents) CHECK(HasChunksOfRows(m));
  Derive(one);
  Derive(m);
  const std::vector<Tensor> got = testing::RunOk(m, args);
  std::vector<Tensor> want = testing::RunOk(one, args);
  if (of == Of::kHessian)  // less the gradient and what it is by the value
    want.erase(want.begin() + 1, want.begin() + 1 + 2 * static_cast<long>(parameters));
  REQUIRE(got.size() == want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    INFO("result " << k);
    CHECK(got[k].shape == want[k].shape);
    CHECK(got[k].dtype == want[k].dtype);
    if (got[k].dtype != DType::kF64) continue;
    const auto a = testing::Doubles(got[k]), b = testing::Doubles(want[k]);
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (epsilon == 0) {
        CHECK(a[i] == b[i]);
      } else {
        CHECK(a[i] == Approx(b[i]).epsilon(epsilon).margin(1e-12));
      }
    }
  }
  return true;
}

const Tensor kX = Vec({0.4, 1.3, 0.7, 0.9, 1.1, 0.2, 0.8});

// No sums in them, so that the orders of all operations are the same.
TEST_CASE("seeds in chunks: the same bits through control flow") {
  const struct {
    const char* name;
    const char* text;
    std::vector<Tensor> args;
  } cases[] = {
      {"a loop that updates what it reads",
       "fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n  var s = 0.5\n"
       "  for i in 1..n { s = sin(s * x[i]) + y[i - 1]\n    y[i] = s * x[i] + y[i - 1] }\n"
       "  return y }",
       {kX}},
      {"branches, early returns, while, break",
       "fn f(x: [n]f64, m: i64) -> [n]f64 {\n  var y = gen i < n { x[i] * x[i] }\n  var k = 0\n"
       "  while k < m {\n    if y[k % n] > 1.0 { y[k % n] = y[k % n] / x[0] }\n"
       "    else { y[k % n] += x[k % n] }\n    k = k + 1\n    if k > 20 { break }\n  }\n"
       "  if m == 0 { return x }\n  return y }",
       {kX, Tensor::I64(11)}},
      {"nothing is run",
       "fn f(x: [n]f64, m: i64) -> [n]f64 {\n  var y = gen i < n { 0.0 }\n"
       "  for t in 0..m { y[t] = x[t] * x[0] }\n  return y }",
       {kX, Tensor::I64(0)}},
      {"recursion, with a constant on one way out",
       "fn power(x: [n]f64, k: i64) -> [n]f64 {\n  if k == 0 { return gen i < n { 1.0 } }\n"
       "  let y = power(x, k - 1)\n  return gen i < n { y[i] * x[n - 1 - i] } }\n"
       "fn f(x: [n]f64, k: i64) -> [n]f64 { return power(x, k) }",
       {kX, Tensor::I64(3)}},
      {"functions that call each other",
       "fn even(x: [n]f64, s: f64, k: i64) -> ([n]f64, f64) {\n"
       "  if k == 0 { return (x, s) }\n  return odd(gen i < n { x[i] * s }, s * x[0], k - 1) }\n"
       "fn odd(x: [n]f64, s: f64, k: i64) -> ([n]f64, f64) {\n"
       "  if k == 0 { return (x, 1.0) }\n  return even(gen i < n { x[i] + s }, cos(s), k - 1) }\n"
       "fn f(x: [n]f64, k: i64) -> ([n]f64, f64) { return even(x, x[1], k) }",
       {kX, Tensor::I64(4)}},
      {"matrices, several parameters, one of them a scalar",
       "fn f(a: [n, m]f64, c: f64, b: [m]f64) -> ([n, m]f64, f64) {\n  var r = a\n  var s = c\n"
       "  for i in 0..n { for j in 0..m {\n    s = s * b[j] + a[i, j]\n    r[i, j] = s * c\n  } }\n"
       "  return (r, s) }",
       {testing::Mat(2, 3, {1, 2, 3, -1, 0.5, 0.25}), Tensor::F64(0.3), Vec({0.2, -0.5, 0.7})}},
      {"no elements",
       "fn f(x: [n]f64) -> [n]f64 {\n  var y = x\n  for i in 1..n { y[i] = y[i - 1] * x[i] }\n"
       "  return y }",
       {Vec({})}},
  };
  for (const auto& c : cases) {
    INFO(c.name);
    const ir::Module ssa = testing::LowerText(c.text, "f");
    CHECK(CheckSeeds(ssa, c.args, Of::kJacobian, 0));
    CHECK(CheckSeeds(ssa, c.args, Of::kCotangents, 1e-12));
  }
}

TEST_CASE("seeds in chunks: scans, maxima, products and contractions in a loop") {
  const char* text =
      "fn f(x: [n]f64, a: [n, n]f64, m: i64) -> ([n]f64, f64, f64) {\n  var u = x\n  var p = 1.0\n"
      "  for t in 0..m {\n    u = scan prod i < n { u[i] * x[0] }\n"
      "    u = scan max i < n { u[i] } + a @ u\n"
      "    p = p * (prod i < n { u[i] }) + (max i < n { u[i] })\n  }\n"
      "  return (u, p, min i < n { x[i] * p }) }";
  for (const Of of : {Of::kJacobian, Of::kCotangents}) {
    CHECK(CheckSeeds(testing::LowerText(text, "f"),
                     {Vec({0.4, 1.3}), testing::Mat(2, 2, {1, 2, -3, 1}), Tensor::I64(3)}, of,
                     1e-12));
  }
}

// The tape of the gradient has a tangent, each element of which has an element for each seed.
TEST_CASE("seeds in chunks: Hessians") {
  const char* const programs[] = {
      "fn f(x: [n]f64, m: i64) -> f64 {\n  var y = x\n  var s = 0.5\n"
      "  for t in 0..m { for i in 1..n { s = sin(s * x[i]) + y[i - 1]\n"
      "    y[i] = s * x[i] + y[i - 1] } }\n  return s * y[n - 1] }",
      "fn f(x: [n]f64, m: i64) -> f64 {\n  var u = x\n"
      "  for t in 0..m { u = gen i < n { if i > 0 { u[i] * u[i - 1] } else { u[i] } } }\n"
      "  return sum i < n { u[i] * u[i] } }",
      "fn g(x: [n]f64, k: i64) -> f64 {\n  if k == 0 { return 0.3 }\n"
      "  return x[k] * sin(g(x, k - 1)) }\n"
      "fn f(x: [n]f64, m: i64) -> f64 { return g(x, m) * x[0] }"};
  for (const char* text : programs) {
    INFO(text);
    CHECK(CheckSeeds(testing::LowerText(text, "f"), {kX, Tensor::I64(3)}, Of::kHessian, 1e-12));
  }
}

// A list of tangents has the axis in its elements.
TEST_CASE("seeds in chunks: lists and trees of floats") {
  const struct {
    const char* text;
    Of of;
  } cases[] = {
      {"fn f(x: [n]f64) -> [n]f64 {\n  var l = list(x[0])\n"
       "  for i in 1..n { l = push(l, x[i] * l[i - 1]) }\n  return gen i < n { x[i] * l[i] } }",
       Of::kJacobian},
      {"fn f(x: [n]f64) -> [n]f64 {\n  var xs = repeat(1.0, n)\n"
       "  for i in 1..n { xs[i] = x[i] * x[i - 1] }\n"
       "  xs[0] = 2.0\n  var last = 0.0\n  xs, last = pop(xs)\n  xs = push(xs, last * x[0])\n"
       "  return gen i < n { sin(xs[i]) } }",
       Of::kJacobian},
      {"struct P { at: [_]f64, id: i64, w: f64 }\n"
       "fn f(x: [n]f64) -> [n]f64 {\n  var ps: list P = list()\n"
       "  for i in 0..n { ps = push(ps, P(gen j < i % 3 + 1 { x[i] * x[0] }, i, 1.0)) }\n"
       "  for i in 1..n { ps[i].at[0] = x[i - 1] * ps[i].w }\n"
       "  ps[2].w = x[0]\n  ps = push(ps, ps[1])\n"
       "  return gen i < n { f64(ps[i].id) * ps[i].at[i % 3] * ps[i].w * ps[n].at[1] } }",
       Of::kJacobian},
      {"struct Node { value: f64, kids: list Node }\n"
       "fn total(t: Node, x: [n]f64) -> [n]f64 {\n  var s = gen i < n { t.value * x[i] }\n"
       "  for k in t.kids { s = total(k, s) }\n  return s }\n"
       "fn f(x: [n]f64) -> [n]f64 {\n  var t = Node(x[0], list())\n"
       "  for i in 1..n - 2 { t.kids = push(t.kids, Node(x[i], list())) }\n"
       "  t.kids[1].kids = push(t.kids[1].kids, Node(x[n - 1], list()))\n"
       "  return total(t, x) }",
       Of::kJacobian},
      {"fn f(x: [n]f64, m: i64) -> [n]f64 {\n"
       "  let states = scan(|s, i| (s.0 * x[i], s.1 + s.0), (1.0, 0.0), n)\n"
       "  return gen i < n { states[i].1 } }",
       Of::kJacobian},
      {"fn f(x: [n]f64) -> f64 {\n  var xs: list f64 = list()\n"
       "  for i in 0..n { xs = push(xs, x[i] * x[i]) }\n  var s = 0.0\n"
       "  for i in 1..n { s += xs[i] * xs[i - 1] }\n  return s }",
       Of::kHessian},
      {"struct Node { value: f64, kids: list Node }\n"
       "fn total(t: Node) -> f64 {\n  var s = t.value * t.value\n"
       "  for k in t.kids { s += sin(total(k)) * t.value }\n  return s }\n"
       "fn f(x: [n]f64) -> f64 {\n  var t = Node(x[0], list())\n"
       "  for i in 1..n { t.kids = push(t.kids, Node(x[i], list(Node(x[i - 1], list())))) }\n"
       "  return total(t) }",
       Of::kHessian},
      {"struct P { at: [_]f64, w: f64 }\n"
       "fn f(x: [n]f64) -> f64 {\n  var ps: list P = list()\n"
       "  for i in 0..n { ps = push(ps, P(gen j < 2 { x[i] * x[0] }, 1.0)) }\n"
       "  for i in 1..n { ps[i].at[1] = x[i - 1] * ps[i].w }\n  var s = 0.0\n"
       "  for i in 0..n { s += ps[i].at[0] * ps[i].at[1] ** 2 }\n  return s }",
       Of::kHessian}};
  for (const auto& c : cases) {
    INFO(c.text);
    const ir::Module ssa = testing::LowerText(c.text, "f");
    std::vector<Tensor> args = {kX};
    if (ssa.Get(ssa.entry).params().size() > 1) args.push_back(Tensor::I64(3));
    CHECK(CheckSeeds(ssa, args, c.of, c.of == Of::kHessian ? 1e-12 : 0));
    if (c.of == Of::kJacobian) CHECK(CheckSeeds(ssa, args, Of::kCotangents, 1e-12));
  }
}

TEST_CASE("seeds in chunks: not where one side is all scalars") {
  for (const char* text :
       {"fn @f(%x: [*]f64) -> f64 { b0: %v = index %x[0]  br gt(%v, 0.0), b1, b2\n"
        "b1: ret mul(%v, %v)\nb2: ret 0.0 }",
        "fn @f(%x: f64) -> [*]f64 { b0: %z = zeros 20 : f64  br gt(%x, 0.0), b1, b2\n"
        "b1: %y = update %z[0], %x  ret %y\nb2: ret %z }"}) {
    INFO(text);
    ir::Module m = testing::ParseIr(text);
    const auto made = SeedInChunks(m, m.entry, {true}, {{true}, {true}}, false);
    REQUIRE(made.ok());
    CHECK(!*made);
  }
}

TEST_CASE("seeds in chunks: generated programs") {
  testing::Coverage coverage;
  int hessians = 0;
  for (const auto kind :
       {testing::Kind::kControlFlow, testing::Kind::kCorners, testing::Kind::kTensor}) {
    for (uint32_t seed = 7000; seed < 7025; ++seed) {
      const testing::GeneratedProgram p = testing::GenerateProgram(kind, seed, &coverage);
      INFO("seed " << seed << "\n" << p.text);
      const ir::Module ssa = testing::LowerText(p.text, p.entry);
      const std::vector<ir::Type>& results = ssa.Get(ssa.entry).results;
      const bool scalar = results.size() == 1 && results[0] == ir::Type::F64();
      if (scalar) hessians += CheckSeeds(ssa, p.args, Of::kHessian, 1e-9);
    }
  }
  INFO(hessians << " Hessians");
  CHECK(hessians >= 30);
}

TEST_CASE("seeds in chunks: generated programs over lists") {
  const std::vector<Tensor> args = {Tensor::F64(0.4), Vec({0.3, -0.6})};
  int checked = 0;
  for (uint32_t seed = 400; seed < 440; ++seed) {
    const std::string text = testing::RandomListProgram(seed);
    INFO("seed " << seed << "\n" << text);
    const ir::Module ssa = testing::ParseIr(text);
    checked += CheckSeeds(ssa, args, Of::kJacobian, 1e-9);
    checked += CheckSeeds(ssa, args, Of::kCotangents, 1e-9);
    if (ssa.Get(ssa.entry).results.size() == 1)
      checked += CheckSeeds(ssa, args, Of::kHessian, 1e-9);
  }
  CHECK(checked >= 40);
}

}  // namespace
}  // namespace pullback::ad
