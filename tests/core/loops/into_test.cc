// Statements that add to an array they are given.
#include <catch2/catch.hpp>

#include "tests/core/loops/testing.h"

namespace pullback::loops {
namespace {

TEST_CASE("a row is added to in place: no array is made") {
  const char* text = R"(
fn @f(%a: [*,*]f64, %x: [*]f64, %i: i64) -> [*,*]f64 {
b0:
  %n = dim %a, 0
  %m = dim %a, 1
  %p = dim %x, 0
  %s = each(j < %p) {
    %u = index %x[%j]
  } gen [%i, %j] of (%n, %m) into %a: %u !7
  ret %s
}
)";
  const std::string loops = PrintLoops(text);
  CHECK(loops.find("alloc") == std::string::npos);
  CHECK(loops.find("unique") != std::string::npos);
  RunBoth(text, {Ramp({3, 4}), Ramp({4}), Tensor::I64(2)});
  RunBoth(text, {Ramp({3, 4}), Ramp({0}), Tensor::I64(2)});
  RunBoth(text, {Ramp({3, 4}), Ramp({5}), Tensor::I64(2)});  // traps
  RunBoth(text, {Ramp({3, 4}), Ramp({4}), Tensor::I64(3)});
}

TEST_CASE("an array that the function makes and nobody else sees is added to as it is") {
  const auto function = [](const std::string& rest) {
    return R"(
fn @f(%x: [*]f64, %c: bool) -> ([*]f64, [*]f64) {
b0:
  %n = dim %x, 0
  %a = each(j < %n) {
    %u = index %x[%j]
    %v = exp %u
  } gen [%j] of (%n): %v
  %b = each(j < %n) {
    %u1 = index %x[%j]
  } gen [%j] of (%n) into %a: %u1
)" + rest + "}\n";
  };
  const std::string alone = function(R"(  br %c, b1, b2(%b)
b1:
  %d = each(j < %n) {
    %u2 = index %x[%n - %j - 1]
  } gen [%j] of (%n) into %b: %u2
  jump b2(%d)
b2(%r: [*]f64):
  ret %r, %x
)");
  const std::string shared = function("  ret %a, %b\n");
  CHECK(PrintLoops(alone).find("unique") == std::string::npos);
  CHECK(PrintLoops(shared).find("unique") != std::string::npos);
  for (const std::string& text : {alone, shared}) {
    RunBoth(text, {Ramp({3}), Tensor::Bool(true)});
    RunBoth(text, {Ramp({3}), Tensor::Bool(false)});
  }
}

TEST_CASE("an array that others see is copied before it is added to") {
  const char* text = R"(
fn @f(%a: [*]f64, %x: [*]f64) -> ([*]f64, [*]f64, f64) {
b0:
  %n = dim %a, 0
  %s = each(j < %n) {
    %u = index %x[%j]
  } gen [%j] of (%n) into %a: %u
  %r = each(j < %n) {
    %u = index %a[%j]
    %v = index %x[%j]
    %w = mul %u, %v
  } gen [%n - 1 - %j] of (%n) into %s: %w
  %t = each(j < %n) {
    %u = index %s[%j]
  } sum []: %u
  ret %a, %r, %t
}
)";
  RunBoth(text, {Ramp({9}), Ramp({9})});
  RunBoth(text, {Ramp({0}), Ramp({0})});
}

TEST_CASE("lanes are added as one total, and not where it is 0") {
  const char* text = R"(
fn @f(%a: [*]f64, %x: [*,*]f64, %k: i64) -> [*]f64 {
b0:
  %n = dim %a, 0
  %m = dim %x, 1
  %s = each(i < %n, j < %m) where (%k <= %i and %j < %i) {
    %u = index %x[%i, %j]
  } sum [%i] of (%n) into %a: %u
  ret %s
}
)";
  for (int64_t k : {0, 2, 5}) {
    RunBoth(text, {Vector({-0.0, -0.0, 0.0, 1.0}), Ramp({4, 20}), Tensor::I64(k)});
    RunBoth(text, {Vector({-0.0, -0.0, 0.0, 1.0}), Matrix(4, 20, std::vector<double>(80, -0.0)),
                   Tensor::I64(k)});
  }
}

TEST_CASE("a run is added as one total, and not where it is 0") {
  const char* text = R"(
fn @f(%a: [*]f64, %x: [*,*,*]f64, %k: i64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %m = dim %x, 1
  %p = dim %x, 2
  %s = each(i < %n, j < %m, l < %p) where (%k <= %j and %l < %i) {
    %u = index %x[%i, %j, %l]
  } sum [%j] of (%m) into %a: %u
  ret %s
}
)";
  for (int64_t k : {0, 2, 5}) {
    const Tensor a = Vector({-0.0, -0.0, 0.0, 1.0});
    RunBoth(text, {a, Ramp({3, 4, 20}), Tensor::I64(k)});
    RunBoth(text, {a, Tensor::Of<double>(DType::kF64, {3, 4, 20}, std::vector<double>(240, -0.0)),
                   Tensor::I64(k)});
  }
}

TEST_CASE("a run of one term, which is 0, adds nothing") {
  const char* text = R"(
fn @f(%a: [*]f64, %x: [*,*]f64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %m = dim %x, 1
  %s = each(i < %n, j < %m) where (2*%j - %i == 0) {
    %u = index %x[%i, %j]
  } sum [%n - 1 - %i] of (%n) into %a: %u
  ret %s
}
)";
  for (const double zero : {0.0, -0.0, 2.0})
    RunBoth(text, {Vector({-0.0, 0.0, 1.0}), Matrix(3, 2, std::vector<double>(6, zero))});
}

TEST_CASE("terms that meet in an element are added one by one, present ones only") {
  const char* text = R"(
fn @f(%a: [*]f64, %b: [*]f64, %x: [*]f64) -> ([*]f64, [*]f64) {
b0:
  %n = dim %a, 0
  %m = dim %x, 0
  %s, %r = each(j < %m) {
    %u = index %x[%j]
    %v = rem %j, %n
    %g = lt %u, 7.0
  } sum [%v] of (%n) into %a: %u if %g, sum [%n - 1 - %v] of (%n) into %b: %u
  ret %s, %r
}
)";
  RunBoth(text, {Ramp({3}), Ramp({3}), Ramp({20})});
  RunBoth(text, {Vector({1e16, -0.0, 3}), Vector({1, 2, 3}), Ramp({20})});
}

TEST_CASE("an array of another shape than the result ends the run") {
  const char* text = R"(
fn @f(%a: [*]f64, %x: [*]f64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %s = each(j < %n) {
    %u = index %x[%j]
  } gen [%j] of (%n) into %a: %u !3
  ret %s
}
)";
  RunBoth(text, {Ramp({3}), Ramp({4})});
  RunBoth(text, {Ramp({4}), Ramp({3})});
}

}  // namespace
}  // namespace pullback::loops
