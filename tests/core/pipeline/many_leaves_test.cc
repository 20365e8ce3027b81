// Matrices of derivatives by parameters with many leaves, of which few matter: what is written, and how much of it.
#include <catch2/catch.hpp>
#include <string>

#include "core/ad/seeded_jacobian.h"
#include "core/ir/count_insts.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/pipeline/sparse_check.h"
#include "tests/support/derivatives.h"

namespace pullback::pipeline {
namespace {

using testing::Doubles;
using testing::Vec;

// `count` parameters that are structs of so many leaves; `rest`: from the result's type on.
std::string Program(int leaves, const std::string& type, int count, const std::string& rest) {
  std::string text = "struct S { ";
  for (int k = 0; k < leaves; ++k) text += (k ? ", a" : "a") + std::to_string(k) + ": " + type;
  text += " }\nfn f(";
  for (int k = 0; k < count; ++k) text += (k ? ", p" : "p") + std::to_string(k) + ": S";
  return text + ") -> " + rest;
}

ir::Module LeafMatrix(const std::string& program, Transform transform, bool sparse) {
  const ir::Module lowered = testing::LowerText(program, "f");
  const std::vector<bool> wrt(lowered.Get(lowered.entry).params().size(), true);
  Options options;
  options.sparse = sparse;
  StatusOr<Staged> staged = Derive(lowered, transform, wrt, options);
  REQUIRE(staged.ok());
  return std::move(staged->final);
}

// The first parameter brings the value, each other that something depends on what is between: a function and its
// tangent.
TEST_CASE("many leaves: Jacobians derive by what results depend on") {
  for (const int parameters : {1, 4, 16}) {
    ir::Module m = testing::LowerText(Program(8, "f64", parameters, "S { return p0 }"), "f");
    const ir::Function& f = m.Get(m.entry);
    const size_t functions = m.functions.size();
    ad::JacobianRows rows{std::vector<bool>(8, true), std::vector<bool>(8, true)};
    const auto made =
        ad::SeedJacobian(m, m.entry, std::vector<bool>(f.params().size(), true), rows);
    REQUIRE(made.ok());
    REQUIRE(made->has_value());
    CHECK(m.functions.size() == functions + 1 + 1 + 2 * 7);
    CHECK(CountInsts(m.Get((*made)->function)) <= size_t(2 * 8 * 8 * parameters));
  }
}

// The sum of a chain is pushed through half of it for each of its terms.
TEST_CASE("many leaves: a Jacobian that would be written too often is one by cotangents") {
  std::string sum = "f64 { return 0.0";
  for (int p = 0; p < 20; ++p) {
    for (int k = 0; k < 64; ++k)
      sum += " + sin(p" + std::to_string(p) + ".a" + std::to_string(k) + ")";
  }
  const ir::Module m = LeafMatrix(Program(64, "f64", 20, sum + " }"), Transform::kJacobian, false);
  CHECK(CountInsts(m.Get(m.entry)) <= size_t(20 * 64 * 4));
}

TEST_CASE("many leaves: blocks of zeros are one array each") {
  const int leaves = 64 * 5;
  const ir::Module m =
      LeafMatrix(Program(64, "[n]f64", 5, "f64 { return sum(p0.a0) }"), Transform::kHessian, false);
  const ir::Function& f = m.Get(m.entry);
  CHECK(f.blocks.size() == 1);
  CHECK(CountInsts(f) <= size_t(leaves * leaves + 4 * leaves));
}

TEST_CASE("many leaves: a Jacobian by thousands of them") {
  const ir::Module m =
      LeafMatrix(Program(64, "f64", 128, "S { return p0 }"), Transform::kJacobian, false);
  const ir::Function& f = m.Get(m.entry);
  CHECK(f.results.size() == 64 + 64 * 64 * 128);
  CHECK(CountInsts(f) <= 2);
}

// The tape of a recursion's forward half is made where one parameter's column is not: it stays with all the code.
TEST_CASE("many leaves: columns of code that keeps a tape") {
  const ir::Module ssa = testing::LowerText(
      "fn g(v: [n]f64, i: i64) -> f64 {\n"
      "  if i <= 0 { return sin(v[0]) }\n"
      "  return tanh(v[i % n] * g(v, i - 1))\n}\n"
      "fn f(x: f64, k: i64, a: [n]f64) -> f64 { return g(a, k + 1) * a[0] + 0.1 * x * x }\n",
      "f");
  const std::vector<Tensor> args = {Tensor::F64(0.5), Tensor::I64(2), Vec({0.3, -0.7, 1.1})};
  const auto blocks = testing::RunOk(testing::Derived(ssa, Transform::kHessian), args);
  const auto plain = testing::RunOk(testing::Derived(ssa, Transform::kHessian, {}, false), args);
  REQUIRE(blocks.size() == plain.size());
  CHECK(Doubles(blocks[1])[0] == Approx(0.2));
  for (size_t r = 0; r < blocks.size(); ++r) {
    const std::vector<double> got = Doubles(blocks[r]), wanted = Doubles(plain[r]);
    REQUIRE(got.size() == wanted.size());
    for (size_t k = 0; k < got.size(); ++k) CHECK(got[k] == Approx(wanted[k]).margin(1e-14));
  }
}

TEST_CASE("many leaves: sparse matrices have code for blocks with elements") {
  const auto sparse = [](int leaves, const char* rest, Transform transform) {
    const ir::Module m = LeafMatrix(Program(leaves, "[n]f64", 2, rest), transform, true);
    return m.Get(m.entry).blocks.size();
  };
  CHECK(sparse(64, "f64 { return sum(p0.a0) }", Transform::kHessian) == 1);
  const size_t few = sparse(4, "S { return p0 }", Transform::kJacobian);
  CHECK(sparse(16, "S { return p0 }", Transform::kJacobian) <= 4 * few);
}

TEST_CASE("many leaves: blocks that nothing reaches have no seeds") {
  const Tensor x = SevenNumbers(), y = Vec({3, 4});
  Check({"statements",
         "fn f(x: [n]f64, y: [m]f64) -> (f64, [m]f64, [n]f64, f64) {\n"
         "  return (x[1], y, gen i < n { sin(x[i]) }, 2.0) }",
         {x, y},
         {1, 0, 1, 0}});
  Check({"control flow",
         "fn f(x: [n]f64, y: [m]f64) -> (f64, [m]f64, f64) {\n  var s = 0.0\n  var z = y\n"
         "  for i in 0..n {\n    if x[i] > 0.0 { s += x[i] ** 2\n      z[0] = z[0] * 2.0 }\n  }\n"
         "  return (s, z, y[0]) }",
         {x, y},
         {1, 0, 0}});
  Check({"a rule says what depends on what",
         "fn f(x: [n]f64, y: [m]f64) -> f64 with vjp back { return sum(y) }\n"
         "fn back(x: [n]f64, y: [m]f64, s: f64) -> ([n]f64, [m]f64) {\n"
         "  return (gen i < n { 2.0 * s }, y) }",
         {x, y},
         {1},
         Transform::kJacobian,
         7});
}

}  // namespace
}  // namespace pullback::pipeline
