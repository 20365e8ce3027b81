// Rows that are written where they go.
#include <catch2/catch.hpp>

#include "tests/core/loops/testing.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

size_t Arrays(const std::string& loops) {
  size_t count = 0;
  for (size_t at = loops.find("alloc"); at != std::string::npos; at = loops.find("alloc", at + 1)) {
    ++count;
  }
  return count;
}

// y, of a rows of x's size, from row `first` to `end` on: y[update] = row.
std::string Rows(const std::string& row, const std::string& update) {
  return R"(
fn @f(%x: [*]f64, %a: i64, %first: i64, %end: i64) -> [*,*]f64 {
b0:
  %n = dim %x, 0
  %zero = zeros %a, %n : f64 !1
  jump b1(%first, %zero)
b1(%i: i64, %y: [*,*]f64):
  br lt(%i, %end), b2, b6
b2:
  %row = )" +
         row + R"(
  jump b3(0, %y)
b3(%k: i64, %y1: [*,*]f64):
  br lt(%k, %n), b4, b5
b4:
  %e = index %row[%k]
  %y2 = update %y1[)" +
         update + R"(], %e !9
  jump b3(add(%k, 1), %y2)
b5:
  jump b1(add(%i, 1), %y1)
b6:
  ret %y
}
)";
}

std::string Gen(const std::string& body) {
  return "each(k < %n) { " + body + " } gen [%k] of (%n): %v";
}

void Run(const std::string& text, int64_t n, int64_t a, int64_t first, int64_t end) {
  RunBoth(text, {Ramp({n}), Tensor::I64(a), Tensor::I64(first), Tensor::I64(end)});
}

TEST_CASE("destinations: a row goes where it would be copied") {
  const char* const rows[] = {
      "%v = index %x[%k] !3",
      "%u = index %x[%k] !3; %w = index %y[%i - 1, %n - 1 - %k] !4; %v = sub %u, %w",
      "%u = index %x[%k] !3; %w = index %y[%i, %k] !4; %v = add %u, %w",
  };
  for (const char* row : rows) {
    const std::string text = Rows(Gen(row), "%i, %k");
    INFO(text);
    CHECK(Arrays(PrintLoops(text)) == 1);
    for (int64_t n : {0, 1, 9}) {
      Run(text, n, 5, 1, 5);
      Run(text, n, 5, 2, 2);
      Run(text, n, 5, 3, 7);  // traps but for n = 0
      Run(text, n, 5, -1, 3);
    }
  }
}

TEST_CASE("destinations: columns, and rows of sums in lanes") {
  const std::string column = Rows(Gen("%v = index %x[%k] !3"), "%k, %i + 1");
  CHECK(Arrays(PrintLoops(column)) == 1);
  Run(column, 6, 6, 0, 5);
  Run(column, 6, 6, 0, 6);  // traps
  Run(column, 6, 4, 0, 5);  // traps at the fifth element
  const std::string sums = Rows(
      "each(k < %n, j < %n) { %u = index %x[%j] !3; %w = index %y[%i - 1, %k] !4; %p = add %w, "
      "0.5; "
      "%v = mul %u, %p } sum [%k] of (%n): %v",
      "%i, %k");
  CHECK(Arrays(PrintLoops(sums)) == 1);
  Run(sums, 11, 4, 1, 4);
  Run(sums, 11, 4, 1, 5);
  Run(sums, 0, 4, 1, 5);
  // No terms, and still a place that is out of range.
  const std::string none =
      Rows("each(k < %n, j < %a) { %v = index %x[%k] !3 } max [%k] of (%n): %v", "%i, %k");
  CHECK(Arrays(PrintLoops(none)) == 1);
  Run(none, 3, 0, 0, 1);
  Run(none, 3, 2, 0, 2);
}

TEST_CASE("destinations: rows that are made first") {
  const char* const rows[] = {
      "%v = index %y[%i, %n - 1 - %k] !3",                         // what it overwrites
      "%v = index %y[%k, %k] !3",                                  // perhaps
      "%c = cast %k : i64; %r = rem %c, 3; %v = index %x[%r] !3",  // checked at each point
      "%p = lt %k, 2; %v = index %x[%k] if %p !3",
  };
  for (const char* row : rows) {
    const std::string text = Rows(Gen(row), "%i, %k");
    INFO(text);
    CHECK(Arrays(PrintLoops(text)) == 2);
    Run(text, 4, 4, 0, 4);
    Run(text, 4, 3, 0, 4);
    Run(text, 0, 4, 0, 9);
  }
  const std::string some =
      Rows("each(k < %n) where (1 <= %k) { %v = index %x[%k] !3 } gen [%k] of (%n): %v", "%i, %k");
  CHECK(Arrays(PrintLoops(some)) == 2);
  Run(some, 4, 4, 0, 4);
  const std::string one_place = Rows(Gen("%v = index %x[%k] !3"), "%i, 0");
  CHECK(Arrays(PrintLoops(one_place)) == 2);
  Run(one_place, 4, 4, 0, 4);
}

TEST_CASE("destinations: an array that others see is copied first") {
  const char* text = R"(
fn @f(%x: [*]f64, %y: [*,*]f64, %i: i64) -> ([*,*]f64, [*,*]f64) {
b0:
  %n = dim %x, 0
  %row = each(k < %n) { %u = index %x[%k] !3; %w = index %y[%i, %k] !4; %v = sub %u, %w } gen [%k] of (%n): %v
  jump b1(%y, 0)
b1(%z: [*,*]f64, %k: i64):
  br lt(%k, %n), b2, b3
b2:
  %e = index %row[%k]
  %z1 = update %z[%i, %k], %e !5
  jump b1(%z1, add(%k, 1))
b3:
  ret %z, %y
}
)";
  CHECK(Arrays(PrintLoops(text)) == 0);
  RunBoth(text, {Ramp({4}), Ramp({3, 4}), Tensor::I64(1)});
  RunBoth(text, {Ramp({4}), Ramp({3, 4}), Tensor::I64(3)});
  RunBoth(text, {Ramp({4}), Ramp({3, 2}), Tensor::I64(1)});
}

TEST_CASE("destinations: what stands between a row and its place traps first") {
  for (const std::string between :
       {"q[7]", "i / q[0]", "sum(gen k < q[0] - 1 { k })", "len(zeros(q[0] - 1))"}) {
    INFO(between);
    const ir::Module ssa = testing::LowerText(
        "fn f(x: [n]f64, i: i64, q: [m]i64) -> ([4, n]f64, i64) {\n"
        "  var y = zeros(4, n)\n  let a = exp.(x)\n  let b = " +
            between + "\n  y[i] = a\n  return (y, b) }",
        "f");
    for (const int64_t i : {3, 9})
      RunBoth(testing::Derived(ssa, pipeline::Transform::kValue),
              {Ramp({3}), Tensor::I64(i), Tensor::Of<int64_t>(DType::kI64, {1}, {0})});
  }
}

TEST_CASE("destinations: programs that assign rows") {
  const char* const bodies[] = {
      "y[i] = exp.(x) * f64(i)",
      "y[i] = gen k < n { x[k] + [i > 0] * y[i - 1, k] }",
      "if i > 0 { y[i] = gen k < n { sum j < n { y[i - 1, j] * x[k] } } }",
      "y[i] = gen k < n { x[k] * y[i, k] + 1.0 }",
      "y[i] = gen k < n { y[i, n - 1 - k] + x[k] }",
      "y[:, 1] = gen k < 4 { x[0] * f64(k + i) }",
      "y[i, 1:n] = gen k < n - 1 { x[k] + x[k + 1] }",
  };
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module ssa = testing::LowerText(
        std::string("fn f(x: [n]f64) -> f64 { var y = zeros(4, n)\n for i < 4 { ") + body +
            " }\n return sum i < 4, k < n { f64(i + 1) * y[i, k] ** 2 } }",
        "f");
    testing::CheckDerivatives(ssa, {Ramp({5})});
    RunBoth(testing::Derived(ssa, pipeline::Transform::kValue), {Ramp({5})});
    RunBoth(testing::Derived(ssa, pipeline::Transform::kValueAndGrad), {Ramp({5})});
  }
}

}  // namespace
}  // namespace pullback::loops
