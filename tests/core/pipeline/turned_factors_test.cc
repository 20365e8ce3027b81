// Products that are read by columns, whose second factor is turned, and sums at places that data say which are added on at
// once: the same as unoptimised, and nothing of all rows and columns is made.
#include <catch2/catch.hpp>

#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

Tensor Places(int64_t rows, int64_t columns, int64_t below) {
  std::vector<int64_t> places;
  for (int64_t k = 0; k < rows * columns; ++k) places.push_back((k * 7 + k / 3) % below);
  return Tensor::Of(DType::kI64, {rows, columns}, places);
}

// Arrays with three axes or more that statements make.
int CountOfRank3(const ir::Module& m) {
  int count = 0;
  for (const ir::Inst& inst : m.Get(m.entry).blocks[0].insts) {
    if (!inst.each) continue;
    for (const ir::EachResult& r : inst.each->results) count += r.shape.size() > 2;
  }
  return count;
}

}  // namespace

TEST_CASE("turned factors: columns of a product") {
  for (const char* body :
       {"  let e = x @ w\n  return sum k < s { logsumexp(e[:, k]) ** 2 }\n",
        "  return sum k < s { logsumexp((x @ w).T[k]) ** 2 }\n",
        "  return sum k < s { (sum i < n { tanh(dot(x[i], w[:, k])) }) ** 2 }\n",
        "  let e = x @ w\n  return sum k < s { max(e[:, k]) * sum(sin.(e[:, k])) }\n",
        "  let e = tanh.(x @ w)\n  let g = e - column_sums(e) / f64(n)\n"
        "  return sum k < s { norm2(g[:, k] + 0.1) ** 2 }\n",
        "  let wt = w.T\n  return sum k < s { logsumexp(gen i < n { dot(x[i], wt[k]) }) }\n",
        "  let wt = w.T\n  return sum k < s, i < n { exp(dot(x[i], wt[k])) * wt[k, 0] }\n"}) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n" + std::string(body) + "}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    for (int64_t n : {1, 2, 9, 20}) {
      for (int64_t s : {1, 8, 17}) {
        const std::vector<Tensor> args = {Waves(n, 3, 0.5), Waves(3, s, 1.5)};
        CheckSameOptimised(ssa, Transform::kValue, args);
        CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
      }
    }
    CheckDerivatives(ssa, {Waves(5, 3, 0.5), Waves(3, 4, 1.5)});
    CheckSameOptimised(ssa, Transform::kHessian, {Waves(3, 2, 0.5), Waves(2, 3, 1.5)});
    CheckSameOptimised(ssa, Transform::kJvp,
                       {Waves(3, 2, 0.5), Waves(2, 3, 1.5), Waves(3, 2, 2.5), Waves(2, 3, 3.5)});
  }
}

TEST_CASE("sent sums: the greatest of neighbours") {
  const std::string head = "fn f(x: [n, d]f64, nb: [n, k]i64, w: [d, h]f64) -> f64 {\n";
  const ir::Module ssa = LowerText(head +
                                       "  return sum i < n { norm2(gen c < h { max j < k { "
                                       "(x[nb[i, j]] @ w)[c] } } + 0.1) }\n}\n",
                                   "f");
  CHECK(CountOfRank3(Derived(ssa, Transform::kValueAndGrad, {true, false, false})) == 1);
  for (int64_t k : {1, 2, 5}) {
    const std::vector<Tensor> args = {Waves(6, 3, 0.5), Places(6, k, 6), Waves(3, 4, 1.5)};
    CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
  }
  CheckSameOptimised(ssa, Transform::kValueAndGrad,
                     {Waves(6, 3, 0.5), Places(6, 0, 6), Waves(3, 4, 1.5)});
  CheckDerivatives(ssa, {Waves(6, 3, 0.5), Places(6, 3, 6), Waves(3, 4, 1.5)}, 1e-5,
                   {true, false, true});
}

TEST_CASE("raised readers: extrema in front of control flow") {
  for (const char* body :
       {"  if s > t { return s * s }\n  return s\n",
        "  if s > t { return sin(s) * sum(q) }\n  var a = s\n"
        "  for i < 3 { if a > 0.0 { a = cos(a) * s } }\n  return a\n",
        "  var a = 0.0\n  for i < 3 {\n    let g = sum i < n { min j < m { dot(q[i], k[j]) } }\n"
        "    if g > t { a += g * s } else { a -= g }\n  }\n  return a\n"}) {
    const std::string text =
        "fn f(q: [n, d]f64, k: [m, d]f64, t: f64) -> f64 {\n"
        "  let s = sum i < n { max j < m { dot(q[i], k[j]) } }\n" +
        std::string(body) + "}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    for (double t : {-100.0, 100.0}) {
      const std::vector<Tensor> args = {Waves(4, 3, 0.5), Waves(5, 3, 1.5), Tensor::F64(t)};
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
      CheckDerivatives(ssa, args, 1e-5, {true, true, false});
    }
  }
}

TEST_CASE("raised readers: not what has turns that no array has") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n, d]f64, w: [d, n]f64, m: i64) -> f64 {\n  let z = tanh.(x @ w)\n"
      "  let s = sum i < n { (max j < n { z[i, j] }) * (max j < n { exp(z[i, j]) }) }\n"
      "  if m > 0 { return s * (max r < m, i < n, j < n { z[i, j] * f64(r) }) }\n  return s\n}\n",
      "f");
  for (int64_t m : {-1, 0, 3})
    CheckSameOptimised(ssa, Transform::kValue,
                       {Waves(3, 2, 0.5), Waves(2, 3, 1.5), Tensor::I64(m)});
}

TEST_CASE("raised readers: not what takes more turns than the array has elements") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n, d]f64, w: [d, n]f64, c: f64) -> f64 {\n  let z = tanh.(x @ w)\n"
      "  let s = sum i < n { max j < n { z[i, j] } }\n"
      "  if c > 0.0 { return s * (sum i < n { max j < n, k < n { sin(z[i, j] * z[j, k]) } }) }\n"
      "  return s\n}\n",
      "f");
  const ir::Module optimised = Derived(ssa, Transform::kValue);
  for (const ir::Inst& inst : optimised.Get(optimised.entry).blocks[0].insts) {
    if (!inst.each || inst.each->results[0].monoid != ir::Monoid::kMax) continue;
    CHECK(inst.each->indices.size() < 3);
  }
  for (double c : {-1.0, 1.0})
    CheckSameOptimised(ssa, Transform::kValueAndGrad,
                       {Waves(3, 2, 0.5), Waves(2, 3, 1.5), Tensor::F64(c)});
}

TEST_CASE("turned factors, rows as read: not by sizes that are checked further down") {
  const auto ends_alike = [](const char* program, const std::vector<Tensor>& args) {
    INFO(program);
    const ir::Module ssa = LowerText(program, "f");
    const auto optimised = eval::Run(Derived(ssa, Transform::kValue), args);
    const auto plain = eval::Run(ssa, args);
    REQUIRE(optimised.ok());
    REQUIRE(plain.ok());
    REQUIRE(optimised->trap);
    REQUIRE(plain->trap);
    CHECK(optimised->trap->kind == plain->trap->kind);
    CHECK(optimised->trap->kind == ir::TrapKind::kSizeMismatch);
  };
  Tensor y = Waves(5, 1, 0.3);
  y.shape = {5};
  ends_alike(
      "fn f(x: [n, d]f64, w: [d, e]f64, y: [m]f64) -> f64 {\n  let z = x @ w\n"
      "  let s = sum i < m { if i + 1 < n { max j < e { z[i + 1, j] } } else { 0.0 } }\n"
      "  let q: [m + 1]f64 = gen i < n { x[i, 0] * s }\n"
      "  return s * (sum i < m + 1 { q[i] })\n}\n",
      {Waves(3, 2, 0.5), Waves(2, 2, 1.5), y});
  ends_alike(
      "fn f(x: [n, d]f64, y: [p, d]f64, w: [d, m]f64) -> f64 {\n"
      "  let z = gen i < n, j < m { sum k < d { [i < p] * y[i, k] * w[k, j] } }\n"
      "  let top = gen j < m { max i < n { z[i, j] } }\n"
      "  let s = gen j < m { sum i < n { exp(z[i, j] - top[j]) } }\n"
      "  let r = sum j < m { sum i < n { exp(z[i, j] - top[j]) / s[j] * x[i, 0] } }\n"
      "  let q: [p]f64 = gen i < n { x[i, 0] * r }\n  return r + q[0]\n}\n",
      {Waves(3, 2, 0.5), Waves(2, 2, 1.5), Waves(2, 2, 2.5)});
}

}  // namespace pullback::testing
