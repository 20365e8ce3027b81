// Jacobians, Hessians and Hessian-vector products against finite differences and against each other.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/derivatives.h"
#include "tests/support/matrices.h"
#include "tests/support/programs.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

TEST_CASE("jacobian: scalars and arrays on either side, either direction") {
  const struct {
    const char* text;
    std::vector<Tensor> args;
  } cases[] = {
      // Scalars on both sides; more results than parameters; an integer on each side.
      {"fn @f(%x: f64, %y: f64) -> (f64) { b0: ret mul(mul(%x, %x), sin(%y)) }",
       {Tensor::F64(0.7), Tensor::F64(-0.4)}},
      {"fn @f(%x: f64, %n: i64, %y: f64) -> (f64, i64, f64, f64) { b0:\n"
       "ret mul(%x, %y), %n, sin(%x), exp(%y) }",
       {Tensor::F64(0.7), Tensor::I64(3), Tensor::F64(-0.4)}},
      // An array by scalars, and a scalar by arrays.
      {"fn @f(%x: f64, %n: i64) -> [*]f64 { b0:\n"
       "%y = each(i < %n) { %k = affine %i + 1  %c = cast %k : f64  %v = mul %c, %x  %w = sin %v "
       "}\n"
       "  gen [%i] of (%n): %w\nret %y }",
       {Tensor::F64(0.7), Tensor::I64(4)}},
      {"fn @f(%a: [*]f64, %b: [*,*]f64) -> f64 { b0: %n = dim %b, 0  %m = dim %b, 1\n"
       "%s = each(i < %n, j < %m) { %u = index %a[%i]  %v = index %b[%i, %j]  %w = sin %v\n"
       "  %p = mul %u, %w } sum []: %p\nret mul(%s, %s) }",
       {Vec({0.2, -0.5}), Mat(2, 3, {1, 2, 3, -1, 0.5, 0.25})}},
      // Arrays on both sides, beside scalars: fewer columns, then fewer rows.
      {"fn @f(%a: [*]f64, %c: f64) -> ([*,*]f64, f64) { b0: %n = dim %a, 0\n"
       "%y = each(i < %n, j < %n) { %u = index %a[%i]  %v = index %a[%j]  %w = mul %u, sin(%v)\n"
       "  %p = mul %w, %c } gen [%i, %j] of (%n, %n): %p\nret %y, mul(%c, %c) }",
       {Vec({0.2, -0.5, 1.5}), Tensor::F64(1.3)}},
      {"fn @f(%b: [*,*]f64, %c: f64) -> ([*]f64, f64) { b0: %n = dim %b, 0  %m = dim %b, 1\n"
       "%y = each(i < %n, j < %m) { %v = index %b[%i, %j]  %w = sin mul(%v, %c) }\n"
       "  sum [%i] of (%n): %w\nret %y, mul(%c, %c) }",
       {Mat(2, 3, {1, 2, 3, -1, 0.5, 0.25}), Tensor::F64(1.3)}},
      // No elements on one side.
      {"fn @f(%a: [*]f64, %c: f64) -> ([*]f64, f64) { b0: ret %a, mul(%c, %c) }",
       {Vec({}), Tensor::F64(1.3)}},
  };
  for (const auto& c : cases) {
    const ir::Module m = ParseIr(c.text);
    for (bool optimise : {true, false}) {
      INFO(c.text << (optimise ? "" : ", as built"));
      CheckJacobian(m, c.args, optimise);
    }
  }
}

TEST_CASE("jacobian: of the first programs, and Hessians of those that give a float") {
  for (const ProgramCase& c : FirstPrograms()) {
    if (c.corner) continue;
    SECTION(c.name) {
      const ir::Module m = LowerText(c.text, c.entry);
      bool f32 = false;
      int64_t elements = 0;
      for (const Tensor& t : c.args) {
        f32 |= t.dtype == DType::kF32;
        elements += t.ElementCount();
      }
      if (f32 || elements > 100) continue;
      for (bool optimise : {true, false}) {
        CheckJacobian(m, c.args, optimise);
        if (GivesFloatScalar(m)) CheckHessian(m, c.args, optimise);
      }
    }
  }
}

TEST_CASE("hessian: blocks of scalars, vectors and matrices") {
  const ir::Module m = ParseIr(
      "fn @f(%a: [*]f64, %k: i64, %b: [*,*]f64, %c: f64) -> f64 { b0:\n"
      "%n = dim %b, 0  %m = dim %b, 1\n"
      "%s = each(i < %n, j < %m) { %u = index %a[%i]  %v = index %b[%i, %j]  %w = sin mul(%v, %c)\n"
      "  %p = mul mul(%u, %u), %w } sum []: %p\nret mul(%s, exp(%c)) }");
  const std::vector<Tensor> args = {Vec({0.2, -0.5}), Tensor::I64(3),
                                    Mat(2, 3, {1, 2, 3, -1, 0.5, 0.25}), Tensor::F64(0.3)};
  for (bool optimise : {true, false}) {
    CheckHessian(m, args, optimise);
    const std::vector<Tensor> h = RunOk(Derived(m, Transform::kHessian, {}, optimise), args);
    REQUIRE(h.size() == 10);
    CHECK(h[2].shape == std::vector<int64_t>({2, 2, 3}));     // by a, by b
    CHECK(h[5].shape == std::vector<int64_t>({2, 3, 2, 3}));  // by b twice
    CHECK(h[9].shape.empty());                                // by c twice
  }
  // By some of the parameters.
  const std::vector<Tensor> some =
      RunOk(Derived(m, Transform::kHessian, {true, true, false, true}), args);
  REQUIRE(some.size() == 5);
  CHECK(some[1].shape == std::vector<int64_t>({2, 2}));
}

TEST_CASE("hessian: through loops, recursion, rules and checkpoints") {
  const char* texts[] = {
      "fn @f(%x: f64, %y: f64) -> f64 { b0: jump b1(%x, 0)\n"
      "b1(%r: f64, %k: i64): br lt(%k, 4), b2, b3\n"
      "b2: jump b1(sin(mul(%r, %y)), add(%k, 1))\nb3: ret %r }\n",
      "entry @g\nfn @g(%x: f64, %y: f64) -> f64 { b0: %r = call @f(%x, %y, 3)  ret %r }\n"
      "fn @f(%x: f64, %y: f64, %n: i64) -> f64 { b0: br le(%n, 0), b1, b2\nb1: ret %x\n"
      "b2: %z = call checkpoint @f(%x, %y, sub(%n, 1))  ret sin(add(mul(%z, %y), %x)) }\n",
      "entry @g\nfn @g(%x: f64, %y: f64) -> f64 { b0: %r = call @f(mul(%x, %y))  ret mul(%r, %y) "
      "}\n"
      "fn @f(%x: f64) -> f64 vjp @v { b0: ret exp(%x) }\n"
      "fn @v(%x: f64, %w: f64) -> f64 { b0: %y = call @f(%x)  ret mul(%y, %w) }\n"};
  for (const char* text : texts) {
    INFO(text);
    for (bool optimise : {true, false})
      CheckHessian(ParseIr(text), {Tensor::F64(0.7), Tensor::F64(1.2)}, optimise);
  }
}

// f32 beside f64: a block has the parameter's type.
TEST_CASE("jacobian: element types") {
  const ir::Module m = ParseIr(
      "fn @f(%x: f32, %a: [*]f64) -> ([*]f64, f32) { b0: %n = dim %a, 0  %c = cast %x : f64\n"
      "%y = each(i < %n) { %u = index %a[%i]  %w = mul %u, %c } gen [%i] of (%n): %w\n"
      "ret %y, mul(%x, %x) }");
  for (bool optimise : {true, false}) {
    const std::vector<Tensor> out =
        RunOk(Derived(m, Transform::kJacobian, {}, optimise), {Tensor::F32(3), Vec({1, 2})});
    REQUIRE(out.size() == 6);
    CHECK(out[2].dtype == DType::kF32);
    CHECK(out[2].shape == std::vector<int64_t>({2}));
    CHECK(out[2].At<float>(1) == 2);
    CHECK(out[3].dtype == DType::kF64);
    CHECK(Doubles(out[3]) == std::vector<double>({3, 0, 0, 3}));
    CHECK(out[4].dtype == DType::kF32);
    CHECK(Scalar(out[4]) == 6);
    CHECK(Doubles(out[5]) == std::vector<double>({0, 0}));
  }
}

TEST_CASE("jacobian: as few seeds as there are") {
  const ir::Module wide = ParseIr(
      "fn @f(%a: [*,*]f64) -> [*]f64 { b0: %n = dim %a, 0  %m = dim %a, 1\n"
      "%y = each(i < %n, k < %m) { %u = index %a[%i, %k]  %w = mul %u, %u }\n"
      "  sum [%i] of (%n): %w\nret %y }");
  const ir::Module d = Derived(wide, Transform::kJacobian);
  const auto ops = [&](int64_t n, int64_t m) {
    return eval::Run(d, {Mat(n, m, std::vector<double>(static_cast<size_t>(n * m), 0.5))})
        ->cost.ops;
  };
  // Two rows, a hundred columns: about two pullbacks.
  CHECK(ops(2, 100) < 6 * 200 * 2);
}

Status StatusOf(const std::string& text, Transform transform) {
  const ir::Module m = ParseIr(text);
  return pipeline::Derive(m, transform, std::vector<bool>(m.Get(0).params().size(), true), {})
      .status();
}

TEST_CASE("jacobian: what is refused") {
  const std::string pair = "fn @f(%x: f64) -> (f64, f64) { b0: ret %x, %x }";
  const std::string array = "fn @f(%a: [*]f64) -> [*]f64 { b0: ret %a }";
  const std::string whole = "fn @f(%x: f64) -> i64 { b0: ret 3 }";
  for (const std::string& text : {pair, array, whole}) {
    for (Transform t : {Transform::kHessian, Transform::kHvp}) {
      const Status s = StatusOf(text, t);
      CHECK(s.code() == Code::kInvalidArgument);
      CHECK(s.reason() == "NOT_SCALAR");
      CHECK(s.message().find(pipeline::TransformName(t)) != std::string::npos);
    }
    CHECK(StatusOf(text, Transform::kJacobian).ok());
  }
  const std::string five = "fn @f(%a: [*,*,*,*,*]f64) -> [*,*,*,*,*]f64 { b0: ret %a }";
  const Status many = StatusOf(five, Transform::kJacobian);
  CHECK(many.code() == Code::kUnimplemented);
  CHECK(many.message() ==
        "jacobian: a block of 10 axes, 5 of the result and 5 of a parameter; an array has at most "
        "8 !1");
  // A product with the Hessian makes no matrix.
  const std::string sum =
      "fn @f(%a: [*,*,*,*,*]f64) -> f64 { b0: %v = index %a[0, 0, 0, 0, 0]  ret mul(%v, %v) }";
  CHECK(StatusOf(sum, Transform::kHessian).message().find("hessian") == 0);
  CHECK(StatusOf(sum, Transform::kHvp).ok());
  const std::string lists =
      "record R { x: f64 }\n"
      "fn @f(%x: f64) -> list<R> { b0: %l = list_new : list<R>  %m = list_push %l, %x  ret %m }";
  CHECK(StatusOf(lists, Transform::kJacobian).message().find("jacobian of list<R>: ") == 0);
  const std::string by =
      "record R { x: f64 }\n"
      "fn @f(%l: list<R>) -> f64 { b0: %x = list_get %l, 0  ret mul(%x, %x) }";
  for (Transform t : {Transform::kJacobian, Transform::kHessian, Transform::kHvp}) {
    const Status s = StatusOf(by, t);
    CHECK(s.code() == Code::kUnimplemented);
    CHECK(s.message().find(std::string(pipeline::TransformName(t)) + " by list<R>: ") == 0);
  }
}

}  // namespace
}  // namespace pullback::testing
