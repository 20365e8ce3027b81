// Rows that are written where they go.
#include <catch2/catch.hpp>

#include "core/loops/lower.h"
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
      "%v = index %y[%i, %n - 1 - %k] !3",  // what it overwrites
      "%v = index %y[%k, %k] !3",           // perhaps
  };
  for (const char* row : rows) {
    const std::string text = Rows(Gen(row), "%i, %k");
    INFO(text);
    CHECK(Arrays(PrintLoops(text)) == 2);
    Run(text, 4, 4, 0, 4);
    Run(text, 4, 3, 0, 4);
    Run(text, 0, 4, 0, 9);
  }
  // Its other elements are 0 first.
  const std::string some = Rows(
      "each(k < %n) where (1 <= %k) { %v = index %y[%i, %k] !3 } gen [%k] of (%n): %v", "%i, %k");
  CHECK(Arrays(PrintLoops(some)) == 2);
  Run(some, 4, 4, 0, 4);
  const std::string one_place = Rows(Gen("%v = index %x[%k] !3"), "%i, 0");
  CHECK(Arrays(PrintLoops(one_place)) == 2);
  Run(one_place, 4, 4, 0, 4);
}

// What a row traps by comes before its place, which is looked at behind the nest then.
TEST_CASE("destinations: rows that may trap themselves") {
  const std::string rows[] = {
      "%c = cast %k : i64; %r = rem %c, 3; %v = index %x[%r] !3",  // checked at each point
      "%p = lt %k, 2; %v = index %x[%k + 1] if %p !3",
      "%d = affine %k - %a; %q = div 6, %d !4; %v = cast %q : f64",
      "%u = index %x[%k] !3; %q = cast %u : i64; %v = index %y[%i - 1, %q] !4",
      ("%u = index %x[%k] !3; %p = ge %u, 0.0; %q = affine 7 * %k - 3 * %i; %w = index %x[%q] if "
       "%p !4; "
       "%v = add %u, %w"),
  };
  for (const std::string& body : rows) {
    const std::string text = Rows(Gen(body), "%i, %k");
    INFO(text);
    CHECK(Arrays(PrintLoops(text)) == 1);
    for (int64_t n : {0, 1, 2, 3, 5}) {
      for (int64_t a : {2, 4}) {
        for (int64_t first : {-1, 0, 1, 4}) Run(text, n, a, first, first + 3);
      }
    }
  }
}

TEST_CASE("destinations: elements that a row does not have are 0") {
  const std::string rows[] = {
      "each(k < %n) where (1 <= %k) { %v = index %x[%k] !3 } gen [%k] of (%n): %v",
      "each(k < %n) where (%k == %i) { %v = index %x[%k] !3 } gen [%k] of (%n): %v",
      "each(k < %n) where (2 * %k <= %i) { %v = index %x[%k + 1] !3 } gen [%k] of (%n): %v",
      "each(k < %n) { %u = index %x[%k] !3; %p = ge %u, 0.0 } gen [%k] of (%n): %u if %p",
      "each(k < %n) where (1 <= %k) { %v = index %y[%i - 1, %k] !3 } gen [%k] of (%n): %v",
      "each(k < %n, j < %n) where (%k <= %j and %j < 3) { %v = index %x[%j] } max [%k] of (%n): %v",
      "each(k < %n, j < %n) where (%j < %k) { %v = index %x[%j] !3 } sum [%k] of (%n): %v",
  };
  for (const std::string& row : rows) {
    const std::string text = Rows(row, "%i, %k");
    INFO(text);
    CHECK(Arrays(PrintLoops(text)) == 1);
    for (int64_t n : {0, 1, 4}) {
      for (int64_t first : {-1, 0, 1}) Run(text, n, 4, first, first + 4);
    }
  }
}

TEST_CASE("destinations: parts with steps") {
  const char* const places[] = {"%i, %k + 1", "%i, 2 * %k", "%i, %n - 1 - %k",
                                "%n - %k, 2 * %i + 1", "%i, 3 * %k - %i"};
  for (const char* place : places) {
    const std::string text = Rows(Gen("%v = index %x[%k] !3"), place);
    INFO(text);
    CHECK(Arrays(PrintLoops(text)) == 1);
    for (int64_t n : {0, 1, 2, 5}) {
      for (int64_t first : {-1, 0, 1}) Run(text, n, 4, first, first + 2);
    }
  }
  // Two indices in one place, or one that is in none: elements may coincide.
  for (const char* place : {"%k + %i - %i, 1", "0, 0"}) {
    const std::string text = Rows(Gen("%v = index %x[%k] !3"), place);
    Run(text, 2, 4, 0, 2);
  }
  // Where ends wrap.
  const std::string far =
      Rows(Gen("%v = index %x[%k] !3"), "%i, 1048576 * %k + 9223372036853727232");
  CHECK(Arrays(PrintLoops(far)) == 1);
  Run(far, 2, 2, 0, 1);
  Run(far, 0, 2, 0, 1);
}

// z of a matrices of x's sizes.
std::string Matrices(const std::string& matrix, const std::string& change) {
  return R"(
fn @f(%x: [*,*]f64, %z: [*,*,*]f64, %i: i64, %step: i64) -> [*,*,*]f64 {
b0:
  %n = dim %x, 0
  %m = dim %x, 1
  %row = )" +
         matrix + R"(
  jump b1(%z, 0)
b1(%a: [*,*,*]f64, %k: i64):
  br lt(%k, %n), b2, b5
b2:
  jump b3(0, %a)
b3(%l: i64, %b: [*,*,*]f64):
  br lt(%l, %m), b4, b6
b4:
  %e = index %row[%k, %l]
  )" + change +
         R"(
  %more = add %l, 1
  jump b3(%more, %c)
b6:
  jump b1(%b, add(%k, 1))
b5:
  ret %a
}
)";
}

TEST_CASE("destinations: rows of several axes") {
  const std::string gen =
      "each(k < %n, l < %m) { %v = index %x[%k, %l] !3 } gen [%k, %l] of (%n, %m): %v";
  const std::string own =
      "each(k < %n, l < %m) { %u = index %x[%k, %l] !3; %w = index %z[%i, %k, %l] !4; %v = mul %u, "
      "%w "
      "} gen [%k, %l] of (%n, %m): %v";
  const std::string sums =
      "each(k < %n, l < %m, j < %m) { %u = index %x[%k, %j] !3; %w = index %z[%i - 1, %l, %j] !4; "
      "%v = "
      "mul %u, %w } sum [%k, %l] of (%n, %m): %v";
  const std::string traps =
      "each(k < %n, l < %m) { %d = affine %k + %l - %step; %q = div 9, %d !4; %v = cast %q : f64 } "
      "gen "
      "[%k, %l] of (%n, %m): %v";
  const char* const changes[] = {
      "%c = update %b[%i, %k, %l], %e !9",
      "%c = update %b[%l, %i, %k + 1], %e !9",
      "%c = add_at %b[%i, %k, %l], %e !9",
      "%g = neg %e; %c = add_at %b[%i, %k, 2 * %l], %g !9",
  };
  for (const std::string& matrix : {gen, own, sums, traps}) {
    for (const std::string change : changes) {
      const bool apart = change.find("%l, %i") == std::string::npos;
      const bool doubled = change.find("2 * %l") != std::string::npos;
      const std::string text = Matrices(matrix, change);
      INFO(text);
      const bool reads = matrix == own || matrix == sums;
      const bool passes = !reads || (matrix == own ? apart && !doubled : apart);
      CHECK(Arrays(PrintLoops(text)) == (passes ? 0 : 1));
      for (const std::vector<int64_t>& sizes :
           {std::vector<int64_t>{2, 3}, {0, 3}, {3, 0}, {1, 1}}) {
        for (int64_t i : {-1, 0, 1, 2}) {
          for (int64_t step : {-5, 1}) {
            RunBoth(text, {Ramp(sizes), Ramp({3, 3, 3}), Tensor::I64(i), Tensor::I64(step)});
            RunBoth(text, {Ramp(sizes), Ramp({2, 2, 7}), Tensor::I64(i), Tensor::I64(step)});
          }
        }
      }
    }
  }
}

TEST_CASE("destinations: rows that are added") {
  const auto added = [](const std::string& row, const std::string& how) {
    std::string text = Rows(row, "%i, %k");
    const std::string update = "%y2 = update %y1[%i, %k], %e !9";
    return text.replace(text.find(update), update.size(), how);
  };
  const std::string sum =
      "each(k < %n, j < %n) { %u = index %x[%j] !3; %v = mul %u, 0.0 } sum [%k] of (%n): %v";
  const std::string own = Gen("%u = index %x[%k] !3; %w = index %y[%i, %k] !4; %v = sub %u, %w");
  for (const std::string& row : {Gen("%u = index %x[%k] !3; %v = neg %u"), sum, own}) {
    for (const std::string how :
         {"%y2 = add_at %y1[%i, %k], %e !9", "%m = neg %e; %y2 = add_at %y1[%i, %k], %m !9"}) {
      const std::string text = added(row, how);
      INFO(text);
      CHECK(Arrays(PrintLoops(text)) == 1);
      for (int64_t n : {0, 1, 9}) {
        Run(text, n, 4, 1, 4);
        Run(text, n, 4, 2, 6);
      }
    }
  }
  // -0.0 + 0.0 is 0.0: what the row does not have is added, too.
  const std::string some =
      added("each(k < %n) where (1 <= %k) { %v = index %x[%k] !3 } gen [%k] of (%n): %v",
            "%y2 = add_at %y1[%i, %k], %e !9");
  CHECK(Arrays(PrintLoops(some)) == 2);
  Run(some, 3, 4, 0, 4);
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

// The check of a place is a loop under a condition, and came behind what it is for, where a loop that calls became one with
// that.
TEST_CASE("destinations: a place is checked in front of loops that become one") {
  const std::string start =
      "fn g(a: f64) -> f64 { var r = a; while r > 1.0 { r = r / 2.0 } return r }\n"
      "fn f(x: [n]f64, p: i64) -> f64 {\n";
  const std::string makes = "let t = gen k < n, l < n { g(x[k] + x[l]) }\n";
  const std::string matrix = "var y = gen a < 3, k < n { x[k] }\n",
                    cube = "var y = gen a < 3, k < n, l < n { x[k] }\n",
                    of_matrix = "return sum a < 3, k < n { y[a, k] * x[k] } }",
                    of_cube = "return sum a < 3, k < n, l < n { y[a, k, l] * x[k] } }";
  const std::string row = "gen k < n { sum l < n { t[k, l] * t[k, n - 1 - l] } }\n",
                    rows = "gen k < n, l < n { t[k, l] + t[k, 0] }\n";
  for (const std::string& text : {
           cube + makes + "y[p] = " + rows + of_cube,
           cube + makes + "y[p] += " + rows + of_cube,
           cube + "for i < 2 { " + makes + "y[p + i] = " + rows + " }\n" + of_cube,
           cube + "for i < 2 { " + makes + "y[p - i] -= " + rows + " }\n" + of_cube,
           cube + makes + "y[p, 0:n] = " + rows + of_cube,
           matrix + makes + "y[p] = " + row + of_matrix,
           matrix + makes + "y[p, 0:n] += " + row + of_matrix,
           "var y = gen k < n, a < 3 { x[k] }\n" + makes + "y[:, p] = " + row +
               "return sum a < 3, k < n { y[k, a] * x[k] } }",
       }) {
    INFO(text);
    const ir::Module ssa = testing::LowerText(start + text, "f");
    for (const auto t : {pipeline::Transform::kValue, pipeline::Transform::kValueAndGrad}) {
      for (const bool optimised : {true, false}) {
        const ir::Module module = testing::Derived(ssa, t, {optimised, true, false});
        for (const int64_t p : {-1000000000, -1, 0, 2, 3, 1000000000}) {
          RunBoth(module, {Ramp({3}), Tensor::I64(p)}, Traps::kAny, kRows);
          RunBoth(module, {Ramp({0}), Tensor::I64(p)}, Traps::kAny, kRows);
        }
      }
    }
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
      "y[i] += exp.(x) * f64(i)",
      "y[i] -= gen k < n { x[k] + [i > 0] * y[i - 1, k] }",
      "y[i] = gen k < n { [k < i] * x[k] }",
      "y[i] = gen k < n { [x[k] > 0.0] * x[k] * f64(i) }",
      "y[i] = gen k < n { g(x[k], i) }",
      "let q = [3, 1, 0, 2]; y[q[i]] = gen k < n { x[k] * f64(q[i]) }",
      "let q = [3, 1, 0, 2]; y[i] = gen k < n { x[q[k % 4]] * f64(i) }",
      "y[:, i] = gen k < 4 { x[i] * f64(k) }",
      "y[0:2] = gen a < 2, k < n { x[k] + y[a + 2, k] }",
      "y[1:4] += gen a < 3, k < n { x[k] * f64(a) }",
  };
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module ssa = testing::LowerText(
        std::string("fn g(x: f64, i: i64) -> f64 { if x > 0.0 { return x * f64(i) } return 1.0 }\n"
                    "fn f(x: [n]f64) -> f64 { var y = zeros(4, n)\n for i < 4 { ") +
            body + " }\n return sum i < 4, k < n { f64(i + 1) * y[i, k] ** 2 } }",
        "f");
    testing::CheckDerivatives(ssa, {Ramp({5})});
    RunBoth(testing::Derived(ssa, pipeline::Transform::kValue), {Ramp({5})});
    RunBoth(testing::Derived(ssa, pipeline::Transform::kValueAndGrad), {Ramp({5})});
  }
}

// y, and no array for a row.
TEST_CASE("destinations: programs make no array for a row") {
  const char* const bodies[] = {
      "y[i] = gen a < n, b < n { x[a] * x[b] + f64(i) }",
      "y[i] += gen a < n, b < n { x[a] * f64(b + i) }",
      "y[i] -= gen a < n, b < n { [a <= b] * 0.0 + x[a] * f64(i) }",
      "y[i] = gen a < n, b < n { [a < b] * x[b - a] * f64(i) }",
      "y[i] = gen a < n, b < n { [x[a] > 0.0] * x[b] * f64(i) }",
      "y[i] = gen a < n, b < n { g(x[b], a + i) }",
      "y[i, 1] = gen b < n { x[k[b]] * f64(i) }",
      "let q = k[i]; y[q] = gen a < n, b < n { x[a] * x[b] * f64(i) }",
      "y[i, 0] += exp.(x * f64(i))",
      "y[:, i] = gen a < 3, b < n { x[b] * f64(a + i) }",
      "y[i, 0] = gen b < n { sum j < n { g(x[j], b + i) } }",
  };
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module final = testing::Derived(
        testing::LowerText(
            std::string("fn g(x: f64, i: i64) -> f64 { if x > 0.0 { return x * f64(i) } return 1.0 "
                        "}\nfn f(x: [n]f64, k: [n]i64) -> [3, n, n]f64 { var y = zeros(3, n, n)\n "
                        "for i < 3 { ") +
                body + " }\n return y }",
            "f"),
        pipeline::Transform::kValue);
    const StatusOr<Module> loops = LowerToLoops(final);
    REQUIRE(loops.ok());
    const std::string text = Print(*loops);
    INFO(text);
    CHECK(Arrays(text) == 1);
    RunBoth(final, {Ramp({3}), Ints({2, 0, 1})});
  }
}

}  // namespace
}  // namespace pullback::loops
