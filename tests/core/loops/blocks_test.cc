// Control flow, calls, tapes and arrays outside of tensor statements.
#include <catch2/catch.hpp>

#include "tests/core/loops/testing.h"

namespace pullback::loops {
namespace {

constexpr char kPowGrad[] = R"(
entry @pow.grad
fn @pow.grad(%x: f64, %n: i64, %ybar: f64) -> (f64, f64) {
b0:
  %T0 = tape_new
  jump b1(1.0, %n, 0, %T0)
b1(%r: f64, %k: i64, %t: i64, %T: tape):
  br gt(%k, 0), b2, b3
b2:
  %T1 = push %T, %r
  %k1 = sub %k, 1
  %r1 = mul %r, %x
  %t1 = add %t, 1
  jump b1(%r1, %k1, %t1, %T1)
b3:
  jump b4(%ybar, 0.0, %t, %T)
b4(%rbar: f64, %xbar: f64, %u: i64, %S: tape):
  br gt(%u, 0), b5, b6
b5:
  %S1, %rv = pop %S : f64
  %d = mul %rbar, %rv
  %xbar1 = add %xbar, %d
  %rbar1 = mul %rbar, %x
  %u1 = sub %u, 1
  jump b4(%rbar1, %xbar1, %u1, %S1)
b6:
  ret %r, %xbar
}
)";

TEST_CASE("the adjoint of pow by repeated multiplication") {
  const Outcome out = RunBoth(kPowGrad, {Tensor::F64(2), Tensor::I64(3), Tensor::F64(1)});
  CHECK(out.values[0].At<double>(0) == 8);
  CHECK(out.values[1].At<double>(0) == 12);
  RunBoth(kPowGrad, {Tensor::F64(2), Tensor::I64(0), Tensor::F64(1)});
}

TEST_CASE("a tape that dies on one edge is released there") {
  CHECK(PrintLoops(kPowGrad) == R"(fn @pow.grad(%x: f64, %n: i64, %ybar: f64) -> (f64, f64) {
b0:
  %T0 = tape_new
  jump b1(1.0, %n, 0, %T0)
b1(%r: f64, %k: i64, %t: i64, %T: tape):
  br %k > 0, b2, b3
b2:
  %T1 = push %T, %r
  %r1 = %r * %x
  jump b1(%r1, %k - 1, %t + 1, %T1)
b3:
  jump b4(%ybar, 0.0, %t, %T)
b4(%rbar: f64, %xbar: f64, %u: i64, %S: tape):
  br %u > 0, b5, b7
b5:
  %S1, %rv = pop %S
  %d = %rbar * %rv
  %xbar1 = %xbar + %d
  %rbar1 = %rbar * %x
  jump b4(%rbar1, %xbar1, %u - 1, %S1)
b6:
  ret %r, %xbar
b7:
  release %S
  jump b6
}
)");
}

TEST_CASE("block arguments are parallel copies") {
  const std::string text = R"(
entry @swap
fn @swap(%x: f64, %y: f64, %n: i64) -> (f64, f64) {
b0:
  jump b1(%x, %y, %n)
b1(%a: f64, %b: f64, %k: i64):
  %k1 = sub %k, 1
  br gt(%k, 0), b1(%b, %a, %k1), b2
b2:
  ret %a, %b
}
)";
  RunBoth(text, {Tensor::F64(1), Tensor::F64(2), Tensor::I64(3)});
}

TEST_CASE("recursion, and calls that pass an array twice") {
  const std::string text = R"(
entry @main
fn @main(%a: [*]f64, %n: i64) -> (f64, [*]f64) {
b0:
  %f = call @fib(%n)
  %s, %b = call @both(%a, %a)
  %t = add %f, %s
  %c = add_arrays %b, %a !1
  ret %t, %c
}
fn @fib(%n: i64) -> f64 {
b0:
  br lt(%n, 2), b1, b2
b1:
  %x = cast %n : f64
  ret %x
b2:
  %n1 = sub %n, 1
  %n2 = sub %n, 2
  %y = call @fib(%n1)
  %z = call @fib(%n2)
  %w = add %y, %z
  ret %w
}
fn @both(%a: [*]f64, %b: [*]f64) -> (f64, [*]f64) {
b0:
  %x = index %a[0] !2
  %c = update %b[1], %x !3
  %y = index %b[1] !4
  ret %y, %c
}
)";
  const Outcome out = RunBoth(text, {Vector({1, 2, 3}), Tensor::I64(10)});
  CHECK(out.values[0].At<double>(0) == 57);
}

constexpr char kFill[] = R"(
entry @fill
fn @fill(%n: i64, %x: f64) -> [*]f64 {
b0:
  %a = zeros %n : f64 !1
  jump b1(%a, 0)
b1(%b: [*]f64, %k: i64):
  br lt(%k, %n), b2, b3
b2:
  %v = cast %k : f64
  %w = mul %v, %x
  %c = update %b[%k], %w !2
  %d = add_at %c[%k], %x !3
  %k1 = add %k, 1
  jump b1(%d, %k1)
b3:
  ret %b
}
)";

TEST_CASE("updates in a loop are in place") {
  const Outcome out = RunBoth(kFill, {Tensor::I64(5), Tensor::F64(0.5)});
  CHECK(out.copies == 0);
  CHECK(out.values[0].At<double>(4) == 2.5);
  RunBoth(kFill, {Tensor::I64(0), Tensor::F64(0.5)});
}

TEST_CASE("an input of the request is never changed") {
  const std::string text = R"(
entry @set
fn @set(%a: [*,*]f64, %i: i64) -> ([*,*]f64, f64) {
b0:
  %b = update %a[%i, 2*%i + 1], 3.0 !1
  %c = add_at %b[1, 0], 2.0 !2
  %v = index %a[%i, 2*%i + 1] !3
  ret %c, %v
}
)";
  const Outcome out = RunBoth(text, {Ramp({2, 4}), Tensor::I64(1)});
  CHECK(out.copies == 1);
  RunBoth(text, {Ramp({2, 4}), Tensor::I64(2)});
  RunBoth(text, {Ramp({2, 4}), Tensor::I64(-1)});
  RunBoth(text, {Ramp({2, 3}), Tensor::I64(1)});
}

TEST_CASE("arrays that are used on one path only") {
  const std::string text = R"(
entry @pick
fn @pick(%a: [*]f64, %b: [*]f64, %c: bool, %unused: [*]f64) -> ([*]f64, [*]f64) {
b0:
  %d = add_arrays %a, %b !1
  br %c, b1(%a), b2
b1(%p: [*]f64):
  ret %p, %p
b2:
  br %c, b3(%d, %b), b3(%b, %b)
b3(%q: [*]f64, %r: [*]f64):
  ret %q, %r
}
)";
  for (bool c : {false, true}) {
    RunBoth(text, {Vector({1, 2}), Vector({3, 4}), Tensor::Bool(c), Vector({5})});
  }
  RunBoth(text, {Vector({1, 2}), Vector({3}), Tensor::Bool(true), Vector({5})});
}

TEST_CASE("arrays on a tape") {
  const std::string text = R"(
entry @undo
fn @undo(%a: [*]f64, %n: i64) -> ([*]f64, [*]f64) {
b0:
  %T = tape_new
  jump b1(%a, 0, %T)
b1(%b: [*]f64, %k: i64, %S: tape):
  br lt(%k, %n), b2, b3
b2:
  %S1 = push %S, %b
  %c = add_at %b[0], 1.0 !1
  %k1 = add %k, 1
  jump b1(%c, %k1, %S1)
b3:
  jump b4(%n, %S, %b)
b4(%j: i64, %R: tape, %d: [*]f64):
  br gt(%j, 0), b5, b6
b5:
  %R1, %e = pop %R : [*]f64
  %f = add_arrays %d, %e !2
  %j1 = sub %j, 1
  jump b4(%j1, %R1, %f)
b6:
  ret %b, %d
}
)";
  RunBoth(text, {Vector({1, 2}), Tensor::I64(3)});
  RunBoth(text, {Vector({1, 2}), Tensor::I64(0)});
}

TEST_CASE("a sum of arrays takes the place of the operand that dies") {
  const std::string text = R"(
entry @sum
fn @sum(%n: i64) -> ([*]f64, [*]f64) {
b0:
  %a = zeros %n : f64 !1
  %b = zeros %n : f64 !2
  %a1 = add_at %a[0], 1.0 !3
  %b1 = add_at %b[1], 2.0 !4
  %c = add_arrays %a1, %b1 !5
  %d = add_arrays %c, %c !6
  ret %a1, %d
}
)";
  CHECK(RunBoth(text, {Tensor::I64(3)}).copies == 0);
}

TEST_CASE("integer division") {
  const std::string text = R"(
entry @div
fn @div(%a: i64, %b: i64, %x: f64) -> (i64, i64, f64, f64) {
b0:
  %q = div %a, %b !1
  %r = rem %a, %b !2
  %f = div %x, 0.0
  %g = rem %x, 2.0
  ret %q, %r, %f, %g
}
)";
  for (int64_t b : {int64_t{3}, int64_t{-1}, int64_t{0}}) {
    RunBoth(text, {Tensor::I64(7), Tensor::I64(b), Tensor::F64(5)});
    RunBoth(text, {Tensor::I64(INT64_MIN), Tensor::I64(b), Tensor::F64(-5)});
  }
}

TEST_CASE("affine forms, holds and checks") {
  const std::string text = R"(
entry @f
fn @f(%a: i64, %b: i64) -> (i64, bool) {
b0:
  %c = affine 2*%a - 3*%b + 7
  %d = affine -%a - 1
  %h = holds(%a < %b and %c == 4)
  %ok = lt %d, 100
  check %ok, size_mismatch, %c, %d !9
  %e = add %c, %d
  ret %e, %h
}
)";
  RunBoth(text, {Tensor::I64(3), Tensor::I64(4)});
  RunBoth(text, {Tensor::I64(0), Tensor::I64(1)});
  RunBoth(text, {Tensor::I64(-200), Tensor::I64(1)});
  RunBoth(text, {Tensor::I64(INT64_MAX), Tensor::I64(INT64_MIN)});
}

// Two arrays that every turn passes on, and one that it makes and stores to element by element.
TEST_CASE("arrays that loops swap have the extents that they were made with") {
  const std::string text = R"(
entry @f
fn @f(%c: [*,*]f64, %t: i64) -> [*,*]f64 {
b0:
  %n = dim %c, 0
  %m = dim %c, 1
  %a = zeros %n, %m : f64
  %b = zeros %n, %m : f64
  jump b1(0, %a, %b)
b1(%s: i64, %x: [*,*]f64, %y: [*,*]f64):
  br lt(%s, %t), b2, b7
b2:
  %u = zeros %n, %m : f64
  jump b3(0, %u)
b3(%i: i64, %v: [*,*]f64):
  br lt(%i, %n), b4(0, %v), b6
b4(%j: i64, %w: [*,*]f64):
  br lt(%j, %m), b5, b8
b5:
  %p = index %y[%i, %j] !1
  %q = index %x[%i, %j] !2
  %r = index %c[%i, %j] !3
  %d = sub %p, %q
  %e = add %d, %r
  %w1 = update %w[%i, %j], %e !4
  jump b4(add(%j, 1), %w1)
b8:
  jump b3(add(%i, 1), %w)
b6:
  jump b1(add(%s, 1), %y, %v)
b7:
  ret %y
}
)";
  const std::string loops = PrintLoops(text);
  INFO(loops);
  // That of the outer counter, which the inner loop's header does not know of; not one for each array.
  CHECK(loops.find("check") == loops.rfind("check"));
  CHECK(loops.find("dim %x") == std::string::npos);
  CHECK(loops.find("dim %y") == std::string::npos);
  for (const int64_t t : {0, 1, 5}) {
    RunBoth(text, {Ramp({4, 3}), Tensor::I64(t)});
    RunBoth(text, {Ramp({0, 3}), Tensor::I64(t)});
  }
}

TEST_CASE("what nobody reads vanishes, what may trap stays") {
  const std::string loops = PrintLoops(R"(
entry @f
fn @f(%a: i64, %x: f64) -> f64 {
b0:
  %b = mul %a, %a
  %y = sin %x
  %z = exp %y
  %q = div 1, %a !1
  ret %x
}
)");
  CHECK(loops == R"(fn @f(%a: i64, %x: f64) -> f64 {
b0:
  check %a != 0, divide_by_zero !1
  ret %x
}
)");
}

}  // namespace
}  // namespace pullback::loops
