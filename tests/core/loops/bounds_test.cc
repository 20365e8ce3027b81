// Where subscripts are checked, and what a failed check reports.
#include <catch2/catch.hpp>

#include "tests/core/loops/testing.h"

namespace pullback::loops {
namespace {

constexpr char kSlice[] = R"(
entry @slice
fn @slice(%x: [*]f64, %s: i64, %l: i64) -> [*]f64 {
b0:
  %y = each(i < %l) {
    %v = index %x[%i + %s] !1
  } gen [%i] of (%l): %v !2
  ret %y
}
)";

TEST_CASE("a slice is checked once, before its loop") {
  CHECK(PrintLoops(kSlice) == R"(fn @slice(%x: [*]f64, %s: i64, %l: i64) -> [*]f64 {
b0:
  check %l >= 0, negative_size(%l) !2
  %y = alloc f64 [%l]
  %0 = dim %x, 0
  %1 = %s + %l - 1
  %2 = %s >= 0 and %1 < %0 and %s <= %1
  %3 = select(%s < 0, %s, max(%s, %0))
  if %l > 0 {
    check %2, index(%3, %0) !1
  }
  for %i in 0..%l {
    %v = %x[%s + %i]
    %y[%i] = %v
  }
  release %x
  ret %y
}
)");
}

TEST_CASE("slices: the reference's index of the first element outside") {
  const auto run = [](int64_t start, int64_t length) {
    return RunBoth(kSlice, {Ramp({5}), Tensor::I64(start), Tensor::I64(length)}).trap.has_value();
  };
  CHECK_FALSE(run(1, 4));
  CHECK_FALSE(run(99, 0));
  CHECK(run(1, 5));
  CHECK(run(-1, 3));
  CHECK(run(5, 1));
  CHECK(run(9, 2));
  CHECK(run(0, -1));
  CHECK(run(INT64_MAX, 2));
  CHECK(run(INT64_MIN, 2));
  CHECK(run(INT64_MAX - 1, 3));
}

TEST_CASE("strided, reversed and diagonal reads: the first point outside in order") {
  const std::string text = R"(
entry @f
fn @f(%x: [*]f64, %s: i64, %a: i64, %b: i64) -> [*,*]f64 {
b0:
  %n = dim %x, 0
  %y = each(i < %n, j < 3) {
    %v = index %x[2*%i - %j + %s] !1
  } gen [%i, %j] of (%n, 3): %v !2
  ret %y
}
)";
  for (int64_t n : {1, 2, 5}) {
    for (int64_t s = -12; s < 6; ++s) {
      RunBoth(text, {Ramp({n}), Tensor::I64(s), Tensor::I64(0), Tensor::I64(0)});
    }
  }
}

TEST_CASE("a read that its guard or the statement's predicate covers needs no check") {
  const std::string loops = PrintLoops(R"(
entry @f
fn @f(%x: [*]f64, %s: i64) -> ([*]f64, [*]f64) {
b0:
  %n = dim %x, 0
  %y = each(i < %n) {
    %g = holds (0 <= %i + %s and %i + %s < %n)
    %v = index %x[%i + %s] if %g !1
  } gen [%i] of (%n): %v !2
  %z = each(j < %n) where (1 <= %j) {
    %w = index %x[%j - 1] !3
  } gen [%j] of (%n): %w !4
  ret %y, %z
}
)");
  CHECK(loops.find("check") == std::string::npos);
  CHECK(loops.find("for %j in 1..%n") != std::string::npos);
}

TEST_CASE("a check that was passed is not made again, in blocks that it dominates") {
  const std::string loops = PrintLoops(R"(
entry @f
fn @f(%x: [*]f64, %y: [*]f64, %s: i64, %c: bool) -> (f64, f64) {
b0:
  %n = dim %x, 0
  %m = dim %y, 0
  br %c, b1, b2
b1:
  %h = holds (%n == %m)
  check %h, size_mismatch, %n, %m !1
  %a = each(i < %n) {
    %u = index %y[%i] !2
  } sum []: %u !3
  ret %a, 0.0
b2:
  %b = each(j < %n) {
    %v = index %y[%j] !4
  } sum []: %v !5
  ret %b, 1.0
}
)");
  CHECK(loops.find("!2") == std::string::npos);
  CHECK(loops.find("!4") != std::string::npos);
}

TEST_CASE("a trap is not brought into an empty space") {
  const std::string text = R"(
entry @f
fn @f(%x: [*]f64, %n: i64, %m: i64) -> [*,*]f64 {
b0:
  %y = each(i < %n, j < %m) {
    %v = index %x[%i] !1
  } gen [%i, %j] of (%n, %m): %v !2
  ret %y
}
)";
  CHECK_FALSE(RunBoth(text, {Ramp({2}), Tensor::I64(9), Tensor::I64(0)}).trap);
  CHECK(RunBoth(text, {Ramp({2}), Tensor::I64(9), Tensor::I64(1)}).trap);
  CHECK(RunBoth(text, {Ramp({2}), Tensor::I64(0), Tensor::I64(-1)}).trap);
  const std::string constant = R"(
entry @f
fn @f(%x: [*]f64, %n: i64, %k: i64) -> f64 {
b0:
  %y = each(i < %n, j < 0) {
    %v = index %x[%j + %k] !1
  } sum []: %v !2
  ret %y
}
)";
  CHECK_FALSE(RunBoth(constant, {Ramp({2}), Tensor::I64(3), Tensor::I64(7)}).trap);
}

TEST_CASE("a total outside of its result is stored only where a term says so") {
  const std::string text = R"(
entry @f
fn @f(%x: [*,*]f64, %k: i64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %m = dim %x, 1
  %y = each(i < %n, j < %m) where (%j < %i) {
    %v = index %x[%i, %j] !1
  } max [%i] of (%k): %v !2
  ret %y
}
)";
  CHECK_FALSE(RunBoth(text, {Ramp({1, 3}), Tensor::I64(0)}).trap);
  CHECK_FALSE(RunBoth(text, {Ramp({3, 3}), Tensor::I64(5)}).trap);
  CHECK(RunBoth(text, {Ramp({3, 3}), Tensor::I64(2)}).trap);
}

}  // namespace
}  // namespace pullback::loops
