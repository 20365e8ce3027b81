// What is computed of points for pairs of them: of all points, where these are fewer (core/tensor/rows_at_points.cc).
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/eval/interpreter.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

constexpr const char* kEdges =
    "fn f(src: [e]i64, dst: [e]i64, x: [n, d]f64, w: [d, h]f64, u: [d, h]f64, v: [h]f64) -> f64 {\n"
    "  var m = zeros(n)\n  m[dst] += relu.(x[src] @ w + x[dst] @ u) @ v\n"
    "  return sum(sin.(m)) }\n";
constexpr const char* kNeighbours =
    "fn f(nb: [n, k]i64, x: [n, d]f64, w: [d, h]f64, u: [d, h]f64, v: [h]f64) -> f64 {\n"
    "  return sum i < n { sin(sum j < k { dot(tanh.(x[i] @ w + x[nb[i, j]] @ u), v) }) } }\n";
// The points change from turn to turn.
constexpr const char* kTurns =
    "fn f(src: [e]i64, dst: [e]i64, x: [n, d]f64, w: [d, d]f64, u: [d, d]f64, v: [d]f64) -> f64 {\n"
    "  var s = x\n  for t < 6 {\n    var m = zeros(n, d)\n"
    "    m[dst] += tanh.(s[src] @ w + s[dst] @ u)\n    s = sin.(s + m)\n  }\n"
    "  return sum(s @ v) }\n";

Tensor Vector(int64_t n) {
  Tensor t = Waves(n, 1, 2.5);
  t.shape = {n};
  return t;
}
Tensor Ints(const std::vector<int64_t>& v, const std::vector<int64_t>& shape) {
  return Tensor::Of(DType::kI64, shape, v);
}
Tensor Places(int64_t count, int64_t points, int64_t step) {
  std::vector<int64_t> v;
  for (int64_t k = 0; k < count; ++k) v.push_back((k * step + k / 3) % points);
  return Ints(v, {count});
}

// The pass has found what it is for.
bool IsOfPoints(const ir::Module& m) {
  for (const ir::Block& b : m.Get(m.entry).blocks) {
    for (const ir::Inst& inst : b.insts) {
      if (inst.op == ir::Op::Min) return true;  // of the pairs and the points
    }
  }
  return false;
}

void CheckSame(const std::string& text, const std::vector<Tensor>& args) {
  INFO(text);
  const ir::Module ssa = LowerText(text, "f");
  for (const Transform t : {Transform::kValue, Transform::kValueAndGrad})
    CheckSameOptimised(ssa, t, args);
}

}  // namespace

TEST_CASE("points: more pairs than points, fewer, none") {
  CHECK(IsOfPoints(Derived(LowerText(kEdges, "f"), Transform::kValueAndGrad)));
  CHECK(IsOfPoints(Derived(LowerText(kTurns, "f"), Transform::kValue)));
  for (const int64_t edges : {0, 1, 4, 5, 17}) {
    const std::vector<Tensor> args = {Places(edges, 5, 2), Places(edges, 5, 3), Waves(5, 3, 0.5),
                                      Waves(3, 4, 1.5),    Waves(3, 4, 4.5),    Vector(4)};
    CheckSame(kEdges, args);
    CheckSame(kTurns, {args[0], args[1], args[2], Waves(3, 3, 1.5), Waves(3, 3, 4.5), Vector(3)});
  }
  for (const int64_t k : {0, 1, 4}) {
    Tensor nb = Places(5 * k, 5, 2);
    nb.shape = {5, k};
    CheckSame(kNeighbours, {nb, Waves(5, 3, 0.5), Waves(3, 4, 1.5), Waves(3, 4, 4.5), Vector(4)});
  }
}

// What the rows of a point that is in no pair hold nobody asks.
TEST_CASE("points: one that is in no pair has no part in any gradient") {
  for (const double odd : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    std::vector<double> x = {0.5, -0.25, 0.1, odd, odd, odd, -0.3, 0.7, 0.2};
    const Tensor points = Tensor::Of(DType::kF64, {3, 3}, x);
    const Tensor w = Waves(3, 4, 1.5), u = Waves(3, 4, 4.5), v = Vector(4);
    for (int64_t times : {1, 3}) {
      std::vector<int64_t> src, dst;
      for (int64_t k = 0; k < times; ++k) {
        src.insert(src.end(), {0, 2});
        dst.insert(dst.end(), {2, 0});
      }
      const auto edges = static_cast<int64_t>(src.size());
      CheckSame(kEdges, {Ints(src, {edges}), Ints(dst, {edges}), points, w, u, v});
    }
    // Behind other factors, conditions and turns, and where all rows are read as well.
    const Tensor src = Ints({0, 2, 0, 2}, {4}), dst = Ints({2, 0, 2, 0}, {4});
    const std::string head =
        "fn f(src: [m]i64, dst: [m]i64, x: [n, d]f64, w: [d, h]f64, v: [d, h]f64, b: [d]f64) -> "
        "f64 {\n";
    for (const std::string body :
         {"let u = gen p < m, j < h { sum k < d { x[src[p], k] * w[k, j] * b[k] } }\n"
          "let y = x[dst] @ v\nreturn sum(sin.(u * y))",
          "let u = x[src] @ w\nlet y = x[dst] @ v\nvar s = 0.0\n"
          "if b[0] > 0.0 { s = sum(tanh.(u + y)) } else { s = sum(sin.(u - y)) }\nreturn s",
          "let u = x[src] @ w\nlet y = x[dst] @ v\nvar g = u * y\n"
          "for t < 5 { g = tanh.(u + y * g) }\nreturn sum(g)",
          "let u = x[src] @ w\nlet y = x[dst] @ v\nreturn sum(sin.(u - y)) + max(u)"}) {
      CheckSame(head + body + "\n}\n", {src, dst, points, w, u, Vector(3)});
    }
    CheckSame(
        "fn f(nb: [n, k]i64, x: [n, d]f64, w: [d, h]f64, v: [h]f64) -> f64 {\n"
        "  return sum i < n { sin(sum j < k { dot(tanh.(x[nb[i, j]] @ w), v) }) } }\n",
        {Ints({0, 2, 2, 2, 0, 0}, {3, 2}), points, w, v});
  }
}

TEST_CASE("points: a place that is none is an error at its place") {
  const auto trap = [](const std::string& text, bool optimise, const std::vector<Tensor>& args) {
    const auto run =
        eval::Run(Derived(LowerText(text, "f"), Transform::kValue, {}, optimise), args);
    REQUIRE(run.ok());
    REQUIRE(run->trap);
    CHECK(run->trap->kind == ir::TrapKind::kIndex);
    return std::vector<int64_t>{run->trap->loc, run->trap->a, run->trap->b};
  };
  const Tensor x = Waves(3, 2, 0.5), w = Waves(2, 4, 1.5), u = Waves(2, 4, 4.5), v = Vector(4);
  for (const std::vector<int64_t>& src :
       {std::vector<int64_t>{0, 3, 1, 2}, {0, -1}, {7, 0, 0, 0}}) {
    const auto edges = static_cast<int64_t>(src.size());
    const std::vector<Tensor> args = {Ints(src, {edges}), Places(edges, 3, 1), x, w, u, v};
    CHECK(trap(kEdges, true, args) == trap(kEdges, false, args));
  }
  const std::vector<Tensor> args = {Ints({0, 1, 3, 1, 2, 0}, {3, 2}), x, w, u, v};
  CHECK(trap(kNeighbours, true, args) == trap(kNeighbours, false, args));
}

// What only pairs ask for need not be there for other points, and what is checked behind the pairs is not known before.
TEST_CASE("points: no error but the program's") {
  const Tensor x = Tensor::Of(DType::kF64, {2}, std::vector<double>{1.0, 2.0});
  const Tensor zeros = Ints({0, 0, 0}, {3});
  CheckSame(
      "fn f(x: [n]f64, mp: [k]i64, src: [m]i64, dst: [m]i64) -> f64 {\n"
      "  let u = gen p < m { tanh(x[mp[src[p]]]) }\n  let y = gen p < m { tanh(x[mp[dst[p]]]) }\n"
      "  return sum(u * y) + sum(u + y) }\n",
      {x, Ints({0, 9}, {2}), zeros, zeros});
  const std::string late =
      "fn f(x: [n, d]f64, w: [d, h]f64, src: [m]i64, dst: [m]i64, k: i64) -> f64 {\n"
      "  let s = sum(tanh.(x[src] @ w + x[dst] @ w))\n  let q = i64(s * 0.0) + k\n"
      "  let z: [q, d]f64 = x\n  return sum(z) + s }\n";
  std::vector<Tensor> args = {Waves(2, 3, 0.5), Waves(3, 2, 1.5), zeros, zeros, Tensor::I64(2)};
  CheckSame(late, args);
  for (const bool optimise : {true, false}) {
    args.back() = Tensor::I64(4);
    const auto run =
        eval::Run(Derived(LowerText(late, "f"), Transform::kValue, {}, optimise), args);
    REQUIRE(run.ok());
    REQUIRE(run->trap);
    CHECK(run->trap->kind == ir::TrapKind::kSizeMismatch);
  }
}

// Of rows without terms, and of none, nothing is read.
TEST_CASE("points: where nothing is read no place is an error") {
  for (const int64_t points : {0, 2}) {
    for (const int64_t d : {0, 2}) {
      for (const int64_t h : {0, 3}) {
        if (d > 0 && h > 0) continue;
        const Tensor x = Waves(points, d, 0.5), w = Waves(d, h, 1.5), u = Waves(d, h, 4.5),
                     v = Vector(h);
        const Tensor zeros = Ints(std::vector<int64_t>(4, 0), {4}), bad = Ints({7, -1, 0, 2}, {4});
        const Tensor nb =
            Ints(std::vector<int64_t>(static_cast<size_t>(3 * points), 9), {points, 3});
        if (points > 0 && d == 0) CheckSame(kEdges, {bad, zeros, x, w, u, v});
        CheckSame(kNeighbours, {nb, x, w, u, v});
      }
    }
  }
}

}  // namespace pullback::testing
