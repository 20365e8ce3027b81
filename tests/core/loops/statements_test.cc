// Tensor statements: the loops that they become, exactly, and what they compute.
#include <catch2/catch.hpp>

#include "tests/core/loops/testing.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

constexpr char kMatmul[] = R"(
entry @matmul
fn @matmul(%a: [*,*]f64, %b: [*,*]f64) -> [*,*]f64 {
b0:
  %n = dim %a, 0
  %p = dim %a, 1
  %q = dim %b, 0
  %m = dim %b, 1
  %same = eq %p, %q
  check %same, size_mismatch, %p, %q !1
  %y = each(i < %n, j < %m, k < %p) {
    %u = index %a[%i, %k] !2
    %v = index %b[%k, %j] !3
    %w = mul %u, %v
  } sum [%i, %j] of (%n, %m): %w !4
  ret %y
}
)";

TEST_CASE("matmul has no check inside, and offsets of a base and an index") {
  CHECK(PrintLoops(kMatmul) == R"(fn @matmul(%a: [*,*]f64, %b: [*,*]f64) -> [*,*]f64 {
b0:
  %n = dim %a, 0
  %p = dim %a, 1
  %q = dim %b, 0
  %m = dim %b, 1
  check %p == %q, size_mismatch(%p, %q) !1
  %y = alloc f64 [%n, %m]
  for %i in 0..%n {
    %0 = %i * %p
    %1 = %i * %m
    for %j in 0..%m {
      %lanes = lanes sum
      for %k in 0..%p {
        %u = %a[%0 + %k]
        %v = %b[%j + %k * %m]
        %w = %u * %v
        sum %lanes[%k]: %w
      }
      %2 = total %lanes
      %y[%1 + %j] = %2
    }
  }
  release %a
  release %b
  ret %y
}
)");
  RunBoth(kMatmul, {Ramp({3, 11}), Ramp({11, 2})});
  RunBoth(kMatmul, {Ramp({3, 0}), Ramp({0, 2})});
  RunBoth(kMatmul, {Ramp({3, 2}), Ramp({3, 2})});
}

constexpr char kConvolution[] = R"(
entry @conv
fn @conv(%x: [*]f64, %c: [*]f64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %m = dim %c, 0
  %h = affine %n - %m + 1
  %y = each(i < %h, j < %m) {
    %u = index %x[%i + %j] !2
    %v = index %c[%j] !3
    %w = mul %u, %v
  } sum [%i] of (%h): %w !4
  ret %y
}
)";

TEST_CASE("the reads of a convolution are proven from its sizes") {
  CHECK(PrintLoops(kConvolution) == R"(fn @conv(%x: [*]f64, %c: [*]f64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %m = dim %c, 0
  %h = %n - %m + 1
  check %h >= 0, negative_size(%h) !4
  %y = alloc f64 [%h]
  for %i in 0..%h {
    %lanes = lanes sum
    for %j in 0..%m {
      %u = %x[%i + %j]
      %v = %c[%j]
      %w = %u * %v
      sum %lanes[%j]: %w
    }
    %0 = total %lanes
    %y[%i] = %0
  }
  release %x
  release %c
  ret %y
}
)");
  RunBoth(kConvolution, {Ramp({20}), Ramp({11})});
  RunBoth(kConvolution, {Ramp({3}), Ramp({4})});
  RunBoth(kConvolution, {Ramp({3}), Ramp({5})});
}

constexpr char kConvolutionAdjoint[] = R"(
entry @dx
fn @dx(%n: i64, %c: [*]f64, %dy: [*]f64) -> [*]f64 {
b0:
  %m = dim %c, 0
  %h = dim %dy, 0
  %dx = each(k < %n, j < %m) where (0 <= %k - %j and %k - %j < %h) {
    %u = index %dy[%k - %j] !2
    %v = index %c[%j] !3
    %w = mul %u, %v
  } sum [%k] of (%n): %w !4
  ret %dx
}
)";

TEST_CASE("the adjoint of a convolution: the predicate becomes the bounds of the inner loop") {
  CHECK(PrintLoops(kConvolutionAdjoint) ==
        R"(fn @dx(%n: i64, %c: [*]f64, %dy: [*]f64) -> [*]f64 {
b0:
  %m = dim %c, 0
  %h = dim %dy, 0
  check %n >= 0, negative_size(%n) !4
  %dx = alloc f64 [%n]
  %0 = 1 - %h
  for %k in 0..%n {
    %lanes = lanes sum
    for %j in max(0, %0 + %k)..min(%m, %k + 1) {
      %u = %dy[%k - %j]
      %v = %c[%j]
      %w = %u * %v
      sum %lanes[%j]: %w
    }
    %1 = total %lanes
    %dx[%k] = %1
  }
  release %c
  release %dy
  ret %dx
}
)");
  RunBoth(kConvolutionAdjoint, {Tensor::I64(20), Ramp({11}), Ramp({10})});
  RunBoth(kConvolutionAdjoint, {Tensor::I64(-1), Ramp({11}), Ramp({10})});
}

TEST_CASE("rule 6.28: equalities pin indices until one loop is left inside") {
  const std::string text = R"(
entry @dx
fn @dx(%n: i64, %c: [*]f64, %dy: [*]f64) -> [*]f64 {
b0:
  %m = dim %c, 0
  %h = dim %dy, 0
  %dx = each(k < %n, i < %h, l < %m, j < %m) where (%k == %i + %j and %l == %j) {
    %u = index %dy[%i] !2
    %v = index %c[%l] !3
    %w = mul %u, %v
  } sum [%k] of (%n): %w !4
  ret %dx
}
)";
  // 20 rows and at most 11 terms each.
  const Outcome out = RunBoth(text, {Tensor::I64(20), Ramp({11}), Ramp({10})});
  CHECK(out.iterations == 20 + 11 * 10);
}

TEST_CASE("diag and trace are single loops") {
  CHECK(PrintLoops(R"(
entry @diag
fn @diag(%x: [*]f64) -> [*,*]f64 {
b0:
  %n = dim %x, 0
  %y = each(i < %n, j < %n) where (%i == %j) {
    %v = index %x[%i] !1
  } gen [%i, %j] of (%n, %n): %v !2
  ret %y
}
)") == R"(fn @diag(%x: [*]f64) -> [*,*]f64 {
b0:
  %n = dim %x, 0
  %y = alloc f64 [%n, %n] zeroed
  for %i in 0..%n {
    %v = %x[%i]
    %y[%i * %n + %i] = %v
  }
  release %x
  ret %y
}
)");
  const std::string trace = R"(
entry @trace
fn @trace(%a: [*,*]f64) -> f64 {
b0:
  %n = dim %a, 0
  %y = each(i < %n, j < %n) where (%i == %j) {
    %v = index %a[%i, %j] !1
  } sum []: %v !2
  ret %y
}
)";
  CHECK(RunBoth(trace, {Ramp({9, 9})}).iterations == 9);
  RunBoth(trace, {Ramp({3, 2})});
  RunBoth(trace, {Ramp({0, 0})});
}

TEST_CASE("a stride divides: one point of the inner index for each outer one") {
  const std::string text = R"(
entry @f
fn @f(%x: [*]f64, %dy: [*]f64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %h = dim %dy, 0
  %y = each(k < %n, i < %h) where (%k == 2*%i + 1) {
    %v = index %dy[%i] !1
  } sum [%k] of (%n): %v !2
  ret %y
}
)";
  CHECK(RunBoth(text, {Ramp({9}), Ramp({3})}).iterations == 5);
  RunBoth(text, {Ramp({4}), Ramp({7})});
}

// That an index is in range may follow from an inner loop's having turns, and then holds only inside of it.
TEST_CASE("a quotient is in range before it is read by, though the loop inside has no turns") {
  const auto text = [](const std::string& where) {
    return R"(
entry @f
fn @f(%x: [*]f64, %y: [*]f64) -> f64 {
b0:
  %m = dim %x, 0
  %n = dim %y, 0
  %s = each(i < %m, j < %n) where ()" +
           where + R"() {
    %v = index %x[%i]
  } sum []: %v
  ret %s
}
)";
  };
  for (const char* where :
       {"0 == 2*%i", "2*%i == 3*%n - 2", "2*%i == 10000001*%n - 10000000", "2*%i == %n - 1"}) {
    INFO(where);
    for (const int64_t m : {0, 1, 4}) {
      for (const int64_t n : {0, 1, 2, 3}) RunBoth(text(where), {Ramp({m}), Ramp({n})});
    }
  }
  const std::string same = R"(
entry @f
fn @f(%x: [*]f64) -> f64 {
b0:
  %n = dim %x, 0
  %s = each(i < %n, j < %n) where (0 == 2*%i) {
    %v = index %x[%i]
  } sum []: %v
  ret %s
}
)";
  for (const int64_t n : {0, 1, 3}) RunBoth(same, {Ramp({n})});
}

TEST_CASE("limits by scalars hold up to the ends of the integers") {
  const std::string text = R"(
entry @f
fn @f(%x: [*]f64, %s: i64) -> (f64, f64, f64) {
b0:
  %n = dim %x, 0
  %a = each(i < %n) where (0 <= %i + %s) {
    %u = index %x[%i] !1
  } sum []: %u !2
  %b = each(j < %n) where (0 <= %s - %j) {
    %v = index %x[%j] !3
  } sum []: %v !4
  %c = each(k < %n) where (%k == %s) {
    %w = index %x[%k] !5
  } sum []: %w !6
  ret %a, %b, %c
}
)";
  for (int64_t s : {int64_t{0}, int64_t{3}, int64_t{-3}, int64_t{8}, int64_t{-9}, INT64_MAX,
                    INT64_MAX - 3, INT64_MIN, INT64_MIN + 1, INT64_MIN + 3}) {
    RunBoth(text, {Ramp({8}), Tensor::I64(s)});
  }
  CHECK(RunBoth(text, {Ramp({100}), Tensor::I64(2)}).iterations == 100 + 3);
}

TEST_CASE("terms that are absent leave lanes as they were") {
  const std::string text = R"(
entry @f
fn @f(%x: [*,*]f64, %t: i64) -> ([*]f64, f64, [*]f64, f64) {
b0:
  %n = dim %x, 0
  %m = dim %x, 1
  %a, %b, %c, %d = each(i < %n, j < %m) where (%j < %i + %t) {
    %v = index %x[%i, %j] !1
    %g = lt %v, 0.0
  } sum [%i] of (%n): %v, sum []: %v, max [%i] of (%n): %v if %g, prod []: %v if %g !2
  ret %a, %b, %c, %d
}
)";
  for (int64_t t : {-20, -3, 0, 4, 20}) RunBoth(text, {Ramp({7, 19}), Tensor::I64(t)});
}

TEST_CASE("sums that are no prefix add in the order of the points") {
  const std::string text = R"(
entry @f
fn @f(%x: [*,*]f64, %idx: [*]i64, %k: i64) -> ([*]f64, [*]f64, [*,*]f64) {
b0:
  %n = dim %x, 0
  %m = dim %x, 1
  %a, %b, %c = each(i < %n, j < %m) {
    %v = index %x[%i, %j] !1
    %t = index %idx[%i] !2
  } sum [%j] of (%m): %v, sum [%t] of (%k): %v, gen [%j, %i] of (%m, %n): %v !3
  ret %a, %b, %c
}
)";
  RunBoth(text, {Ramp({3, 4}), Ints({1, 1, 0}), Tensor::I64(2)});
  RunBoth(text, {Ramp({3, 4}), Ints({1, 2, 0}), Tensor::I64(2)});
  RunBoth(text, {Ramp({3, 4}), Ints({1, -1, 0}), Tensor::I64(2)});
  RunBoth(text, {Ramp({3, 4}), Ints({1, 1}), Tensor::I64(2)});
}

TEST_CASE("runs of sums that are no prefix are added in lanes") {
  const std::string text = R"(
entry @f
fn @f(%x: [*,*,*]f64, %t: i64, %u: i64, %e: i64) -> ([*]f64, [*]f64, [*,*]f64, [*]f64) {
b0:
  %n = dim %x, 0
  %m = dim %x, 1
  %p = dim %x, 2
  %a, %b, %c, %d = each(i < %n, j < %m, k < %p) where (%k < %j + %t) {
    %v = index %x[%i, %j, %k] !1
    %g = lt %v, 0.0
  } sum [%j] of (%m): %v, sum [%u] of (2): %v if %g, sum [%j, %i] of (%m, %n): %v, sum [2*%j + %u] of (%e): %v !2
  ret %a, %b, %c, %d
}
)";
  CHECK(testing::CountText(PrintLoops(text), "lanes sum") == 4);
  const auto run = [&](int64_t t, int64_t u, int64_t e) {
    RunBoth(text, {Ramp({3, 4, 19}), Tensor::I64(t), Tensor::I64(u), Tensor::I64(e)});
  };
  for (int64_t t : {-20, -2, 0, 2, 15, 20}) run(t, 1, 8);
  // A run of no points may add anywhere; one of some has to be in range.
  for (int64_t t : {-20, -2, -3, 0}) {
    run(t, 1, 7);
    run(t, -1, 8);
    run(t, 2, 9);
  }
}

TEST_CASE("a negative zero alone in a sum becomes zero") {
  const std::string text = R"(
entry @f
fn @f(%x: [*]f64) -> ([*]f64, [*]f64) {
b0:
  %n = dim %x, 0
  %a, %b = each(i < %n) {
    %v = index %x[%i] !1
  } sum [%i] of (%n): %v, gen [%i] of (%n): %v !2
  ret %a, %b
}
)";
  RunBoth(text, {Vector({-0.0, 1.0, 0.0})});
}

TEST_CASE(
    "instructions with one guard share an If, stronger guards nest, what leaves is 0 outside") {
  CHECK(PrintLoops(R"(
entry @f
fn @f(%x: [*]f64, %k: i64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %y = each(i < %n) {
    %g = holds (%i <= %k)
    %a = index %x[%i] if %g !1
    %p = lt %a, 1.0 if %g
    %b = mul %a, %a if %g
    %c = exp %b if %p
    %d = add %b, %c if %g
  } gen [%i] of (%n): %d !2
  ret %y
}
)") == R"(fn @f(%x: [*]f64, %k: i64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %y = alloc f64 [%n]
  for %i in 0..%n {
    %d = if %k - %i >= 0 {
      %a = %x[%i]
      %b = %a * %a
      %c = if %a < 1.0 {
        %c.2 = exp(%b)
        yield %c.2
      } else {
        yield 0.0
      }
      %d.2 = %b + %c
      yield %d.2
    } else {
      yield 0.0
    }
    %y[%i] = %d
  }
  release %x
  ret %y
}
)");
}

TEST_CASE("what does not depend on an inner index is evaluated outside of it, traps are not") {
  CHECK(PrintLoops(R"(
entry @f
fn @f(%x: [*]f64, %y: [*]f64, %d: [*]i64) -> [*,*]f64 {
b0:
  %n = dim %x, 0
  %m = dim %y, 0
  %z = each(i < %n, j < %m) {
    %u = index %x[%i] !1
    %e = exp %u
    %v = index %y[%j] !2
    %k = cast %u : i64
    %q = div 7, %k !3
    %r = cast %q : f64
    %s = mul %e, %v
    %w = mul %s, %r
  } gen [%i, %j] of (%n, %m): %w !4
  ret %z
}
)") == R"(fn @f(%x: [*]f64, %y: [*]f64, %d: [*]i64) -> [*,*]f64 {
b0:
  release %d
  %n = dim %x, 0
  %m = dim %y, 0
  %z = alloc f64 [%n, %m]
  for %i in 0..%n {
    %u = %x[%i]
    %e = exp(%u)
    %k = i64(%u)
    %0 = %k != 0
    %1 = %i * %m
    for %j in 0..%m {
      %v = %y[%j]
      check %0, divide_by_zero !3
      %r = f64(7 / %k)
      %s = %e * %v
      %w = %s * %r
      %z[%1 + %j] = %w
    }
  }
  release %x
  release %y
  ret %z
}
)");
}

TEST_CASE("calls in bodies, scalar results of a store, constants as values") {
  const std::string text = R"(
entry @f
fn @f(%x: [*]f64) -> ([*]f64, [*]f64, f64, [*]i64, [*]bool) {
b0:
  %n = dim %x, 0
  %a, %b, %d = each(i < %n) {
    %v = index %x[%i] !1
    %s, %c = call @sincos(%v)
  } gen [%i] of (%n): %s, gen [%i] of (%n): %c, gen [%i] of (%n): %i !2
  %e = each() { } gen []: -0.0 !3
  %h = each(j < %n) {
    %p = holds (%j == 1)
  } gen [%j] of (%n): %p !4
  ret %a, %b, %e, %d, %h
}
fn @sincos(%x: f64) -> (f64, f64) {
b0:
  %s = sin %x
  %c = cos %x
  ret %s, %c
}
)";
  RunBoth(text, {Ramp({5})});
}

}  // namespace
}  // namespace pullback::loops
