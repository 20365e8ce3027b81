// Tensor statements: spaces, guards, monoids, the order of reductions.
#include <cmath>
#include <limits>
#include <random>

#include "tests/core/eval/eval_support.h"

namespace pullback::eval {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Convolution: y, then dx and dc before and after elimination.
const char* const kConvolution = R"(
fn @conv(%x: [*]f64, %c: [*]f64, %dy: [*]f64) -> ([*]f64, [*]f64, [*]f64, [*]f64, [*]f64) {
b0:
  %n = dim %x, 0
  %m = dim %c, 0
  %h = affine %n - %m + 1
  %y = each(i < %h, k < %n, l < %m, j < %m) where (%k == %i + %j and %l == %j) {
    %a = index %x[%k]
    %b = index %c[%l]
    %v = mul %a, %b
  } sum [%i] of (%h): %v
  %dx = each(k < %n, i < %h, l < %m, j < %m) where (%k == %i + %j and %l == %j) {
    %a = index %dy[%i]
    %b = index %c[%l]
    %v = mul %a, %b
  } sum [%k] of (%n): %v
  %dc = each(l < %m, k < %n, i < %h, j < %m) where (%k == %i + %j and %l == %j) {
    %a = index %x[%k]
    %b = index %dy[%i]
    %v = mul %a, %b
  } sum [%l] of (%m): %v
  %dx2 = each(k < %n, j < %m) where (0 <= %k - %j and %k - %j < %h) {
    %a = index %dy[%k - %j]
    %b = index %c[%j]
    %v = mul %a, %b
  } sum [%k] of (%n): %v
  %dc2 = each(l < %m, i < %h) {
    %a = index %x[%i + %l]
    %b = index %dy[%i]
    %v = mul %a, %b
  } sum [%l] of (%m): %v
  ret %y, %dx, %dc, %dx2, %dc2
})";

TEST_CASE("convolution and its adjoint, worked by hand") {
  const Result r = RunText(kConvolution, {Vec({1, 2, 3, 4, 5}), Vec({10, 1}), Vec({1, 2, 3, 4})});
  CHECK(Doubles(r.values[0]) == std::vector<double>{12, 23, 34, 45});
  CHECK(Doubles(r.values[1]) == std::vector<double>{10, 21, 32, 43, 4});
  CHECK(Doubles(r.values[2]) == std::vector<double>{30, 40});
  CHECK(Doubles(r.values[3]) == Doubles(r.values[1]));
  CHECK(Doubles(r.values[4]) == Doubles(r.values[2]));
}

TEST_CASE("the trace of a diagonal matrix") {
  const Result r = RunText(R"(
fn @f(%x: [*]f64) -> ([*,*]f64, f64) {
b0:
  %n = dim %x, 0
  %d = each(i < %n, j < %n) where (%i == %j) {
    %v = index %x[%i]
  } gen [%i, %j] of (%n, %n): %v
  %t = each(i < %n) {
    %v = index %d[%i, %i]
  } sum []: %v
  ret %d, %t
})",
                           {Vec({1, 2, 3})});
  CHECK(Doubles(r.values[0]) == std::vector<double>{1, 0, 0, 0, 2, 0, 0, 0, 3});
  CHECK(r.values[1].At<double>(0) == 6.0);
}

// --- the order of reductions

// The definition in ir.h, written down a second time: lanes of the offset, then the tree.
template <typename T>
T LaneSum(const std::vector<T>& terms, const std::vector<bool>& present) {
  T l[8] = {};
  for (size_t o = 0; o < terms.size(); ++o) {
    if (present[o]) l[o % 8] = l[o % 8] + terms[o];
  }
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

std::vector<double> RandomTerms(size_t n) {
  std::mt19937_64 random(n);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::vector<double> terms;
  for (size_t i = 0; i < n; ++i) {
    terms.push_back(std::ldexp(mantissa(random), static_cast<int>(random() % 40)));
  }
  return terms;
}

TEST_CASE("a sum in prefix form is reduced in eight lanes") {
  const char* text = R"(
fn @f(%x: [*]f64) -> (f64) {
b0: %n = dim %x, 0
    %s = each(i < %n) { %v = index %x[%i] } sum []: %v
    ret %s
})";
  for (size_t n : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{9}, size_t{1000}}) {
    const std::vector<double> x = RandomTerms(n);
    CHECK(RunText(text, {Vec(x)}).values[0].At<double>(0) ==
          LaneSum(x, std::vector<bool>(n, true)));
  }
}

TEST_CASE("the lane is the offset in the box of the reduced indices, absent terms are not added") {
  const char* text = R"(
fn @f(%x: [*,*,*]f64) -> ([*]f64) {
b0: %p = dim %x, 0
    %q = dim %x, 1
    %r = dim %x, 2
    %s = each(i < %p, j < %q, k < %r) where (%i <= %j + 2*%k) {
      %v = index %x[%i, %j, %k]
    } sum [%i] of (%p): %v
    ret %s
})";
  const std::vector<double> x = RandomTerms(4 * 5 * 7);
  const Result r = RunText(text, {Tensor::Of(DType::kF64, {4, 5, 7}, x)});
  for (int64_t i = 0; i < 4; ++i) {
    std::vector<double> terms;
    std::vector<bool> present;
    for (int64_t j = 0; j < 5; ++j) {
      for (int64_t k = 0; k < 7; ++k) {
        terms.push_back(x[static_cast<size_t>((i * 5 + j) * 7 + k)]);
        present.push_back(i <= j + 2 * k);
      }
    }
    CHECK(r.values[0].At<double>(i) == LaneSum(terms, present));
  }
}

TEST_CASE("f32 sums are added in f32") {
  const std::vector<float> x(100, 0.1f);
  const Result r = RunText(R"(
fn @f(%x: [*]f32) -> (f32) {
b0: %s = each(i < 100) { %v = index %x[%i] } sum []: %v
    ret %s
})",
                           {Tensor::Of(DType::kF32, {100}, x)});
  CHECK(r.values[0].At<float>(0) == LaneSum(x, std::vector<bool>(100, true)));
}

TEST_CASE("a sum that is not in prefix form is added in the order of the points") {
  const std::vector<double> x = RandomTerms(60);
  const Result r = RunText(R"(
fn @f(%x: [*,*]f64) -> ([*]f64, [*]f64) {
b0: %s, %t = each(i < 6, j < 10) {
      %v = index %x[%i, %j]
      %z = sub %j, %j
    } sum [%j] of (10): %v, sum [%z] of (1): %v
    ret %s, %t
})",
                           {Tensor::Of(DType::kF64, {6, 10}, x)});
  double all = 0;
  for (double v : x) all += v;
  CHECK(r.values[1].At<double>(0) == all);
  for (int64_t j = 0; j < 10; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < 6; ++i) sum += x[static_cast<size_t>(i * 10 + j)];
    CHECK(r.values[0].At<double>(j) == sum);
  }
}

// `out` names no index behind j: the points of an i and a j are a run.
TEST_CASE("runs of a sum are added in lanes, one after the other") {
  const std::string text = R"(
fn @f(%x: [*,*,*]f64, %a: [*]f64) -> ([*]f64, [*]f64, [*]f64, [*]f64) {
b0: %s, %one, %to, %apart = each(i < 4, j < 5, k < 19) where (0 <= %j + %k - %i) {
      %v = index %x[%i, %j, %k]
      %odd = holds (%k - 3 > 0)
    } sum [%j] of (5): %v, sum [1] of (2): %v, sum [2 * %j + 1] of (10) into %a: %v if %odd, sum [%j, %i] of (5, 4): %v
    %flat = each(j < 5, i < 4) { %v = index %apart[%j, %i] } gen [%i + 4 * %j] of (20): %v
    ret %s, %one, %to, %flat
})";
  const std::vector<double> x = RandomTerms(4 * 5 * 19), a = RandomTerms(10);
  const Result r =
      RunText(text, {Tensor::Of(DType::kF64, {4, 5, 19}, x), Tensor::Of(DType::kF64, {10}, a)});
  std::vector<double> all, to = a;
  std::vector<bool> all_there;
  for (int64_t j = 0; j < 5; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < 4; ++i) {
      std::vector<double> terms;
      std::vector<bool> there, odd;
      for (int64_t k = 0; k < 19; ++k) {
        terms.push_back(x[static_cast<size_t>((i * 5 + j) * 19 + k)]);
        there.push_back(j + k - i >= 0);
        odd.push_back(there.back() && k > 3);
      }
      sum += LaneSum(terms, there);
      to[static_cast<size_t>(2 * j + 1)] += LaneSum(terms, odd);
      CHECK(r.values[3].At<double>(4 * j + i) == LaneSum(terms, there));
    }
    CHECK(r.values[0].At<double>(j) == sum);
  }
  for (int64_t p = 0; p < 4 * 5 * 19; ++p) {
    all.push_back(x[static_cast<size_t>(p)]);
    all_there.push_back(p / 19 % 5 + p % 19 - p / 95 >= 0);
  }
  CHECK(r.values[1].At<double>(0) == 0);
  CHECK(r.values[1].At<double>(1) == LaneSum(all, all_there));
  for (int64_t k = 0; k < 10; ++k) CHECK(r.values[2].At<double>(k) == to[static_cast<size_t>(k)]);
}

TEST_CASE("scatter by an index array") {
  const Result r =
      RunText(R"(
fn @f(%x: [*]f64, %idx: [*]i64) -> ([*]f64) {
b0: %n = dim %x, 0
    %s = each(i < %n) {
      %k = index %idx[%i] !1
      %v = index %x[%i]
    } sum [%k] of (3): %v !2
    ret %s
})",
              {Vec({1, 2, 4, 8}), Tensor::Of<int64_t>(DType::kI64, {4}, {2, 0, 2, 0})});
  CHECK(Doubles(r.values[0]) == std::vector<double>{10, 0, 5});
  CHECK(r.cost.ops == 2);  // two elements have two terms each
}

TEST_CASE("the sign of zero of a sum is that of the lanes") {
  const char* text = R"(
fn @f(%x: [*]f64) -> (f64) {
b0: %s = each(i < 1) { %v = index %x[%i] } sum []: %v
    ret %s
})";
  CHECK_FALSE(std::signbit(RunText(text, {Vec({-0.0})}).values[0].At<double>(0)));
}

// --- monoids

TEST_CASE("prod, max and min") {
  const Result r = RunText(R"(
fn @f(%x: [*]f64, %k: [*]i64) -> (f64, f64, f64, i64, i64) {
b0: %n = dim %x, 0
    %p, %a, %b, %c, %d = each(i < %n) {
      %v = index %x[%i]
      %w = index %k[%i]
    } prod []: %v, max []: %v, min []: %v, max []: %w, min []: %w
    ret %p, %a, %b, %c, %d
})",
                           {Vec({3, -2, 5}), Tensor::Of<int64_t>(DType::kI64, {3}, {3, -2, 5})});
  CHECK(r.values[0].At<double>(0) == -30.0);
  CHECK(r.values[1].At<double>(0) == 5.0);
  CHECK(r.values[2].At<double>(0) == -2.0);
  CHECK(r.values[3].At<int64_t>(0) == 5);
  CHECK(r.values[4].At<int64_t>(0) == -2);
  CHECK(r.cost.ops == 3 * 2);  // integer reductions are free
}

TEST_CASE("max and min pass a NaN on") {
  const Result r = RunText(R"(
fn @f(%x: [*]f64) -> (f64, f64) {
b0: %a, %b = each(i < 3) { %v = index %x[%i] } max []: %v, min []: %v
    ret %a, %b
})",
                           {Vec({1, std::nan(""), 2})});
  CHECK(std::isnan(r.values[0].At<double>(0)));
  CHECK(std::isnan(r.values[1].At<double>(0)));
}

TEST_CASE("entries that no point reaches hold the identity") {
  const Result r = RunText(R"(
fn @f() -> ([*]f64, [*]f64, [*]f32, [*]i64, [*]f64, [*]i64) {
b0: %a, %b, %c, %d, %e, %f = each(i < 2) where (%i == 0) {
    } gen [%i] of (2): 7.0, sum [%i] of (2): 7.0, prod [%i] of (2): 7.0f, max [%i] of (2): 7,
      max [%i] of (2): 7.0, min [%i] of (2): 7
    ret %a, %b, %c, %d, %e, %f
})");
  CHECK(Doubles(r.values[0]) == std::vector<double>{7, 0});
  CHECK(Doubles(r.values[1]) == std::vector<double>{7, 0});
  CHECK(r.values[2].At<float>(1) == 1.0f);
  CHECK(r.values[3].At<int64_t>(1) == INT64_MIN);
  CHECK(r.values[4].At<double>(1) == -kInf);
  CHECK(r.values[5].At<int64_t>(1) == INT64_MAX);
}

TEST_CASE("empty spaces and a space of no indices") {
  const Result r = RunText(R"(
fn @f(%n: i64) -> (f64, f64, [*,*]f64, f64) {
b0: %s, %m, %g = each(i < %n, j < 3) { } sum []: 1.0, min []: 1.0, gen [%i, %j] of (%n, 3): 1.0
    %one = each() { } sum []: 4.0
    ret %s, %m, %g, %one
})",
                           {Tensor::I64(0)});
  CHECK(r.values[0].At<double>(0) == 0.0);
  CHECK(r.values[1].At<double>(0) == kInf);
  CHECK(r.values[2].shape == std::vector<int64_t>{0, 3});
  CHECK(r.values[3].At<double>(0) == 4.0);
}

// --- guards

TEST_CASE("a guarded instruction is not evaluated where its guard is false, and is zero there") {
  const Result r = RunText(R"(
fn @f(%x: [*]f64) -> ([*]f64) {
b0: %n = dim %x, 0
    %y = each(i < %n) {
      %g = holds (%i + 1 < %n)
      %next = index %x[%i + 1] if %g !1
      %one = const 1.0 if %g
      %v = add %next, %one
    } gen [%i] of (%n): %v
    ret %y
})",
                           {Vec({1, 2, 3})});
  CHECK(Doubles(r.values[0]) == std::vector<double>{3, 4, 0});
}

TEST_CASE("a guarded call is not made") {
  const Result r = RunText(R"(
entry @f
fn @f() -> ([*]i64, [*]i64) {
b0: %a, %b = each(i < 3) {
      %g = holds (1 <= %i)
      %q, %r = call @divide(6, %i) if %g !1
    } gen [%i] of (3): %q, gen [%i] of (3): %r
    ret %a, %b
}
fn @divide(%a: i64, %b: i64) -> (i64, i64) {
b0: %q = div %a, %b !2
    ret %q, rem(%a, %b)
})");
  CHECK(r.values[0].At<int64_t>(0) == 0);
  CHECK(r.values[0].At<int64_t>(1) == 6);
  CHECK(r.values[0].At<int64_t>(2) == 3);
}

TEST_CASE("a guarded result takes no part where its guard is false") {
  const Result r = RunText(R"(
fn @f() -> ([*]f64, f64, f64) {
b0: %a, %p, %s = each(i < 4) {
      %g = holds (%i < 2)
      %v = cast %i : f64
    } gen [%i] of (2): %v if %g, prod []: 3.0 if %g, sum []: %v
    ret %a, %p, %s
})");
  CHECK(Doubles(r.values[0]) == std::vector<double>{0, 1});
  CHECK(r.values[1].At<double>(0) == 9.0);
  CHECK(r.values[2].At<double>(0) == 6.0);
}

// --- traps

TEST_CASE("an out of range, a negative extent and a negative shape trap") {
  const Trap out =
      TrapOf("fn @f() -> ([*]f64) { b0: %a = each(i < 4) { } gen [2*%i] of (5): 1.0 !8 ret %a }");
  CHECK(out.kind == ir::TrapKind::kIndex);
  CHECK(out.loc == 8);
  CHECK(out.a == 6);
  CHECK(out.b == 5);
  const char* sizes =
      "fn @f(%n: i64, %m: i64) -> ([*]f64) { b0: %a = each(i < %n) where (%i < 0) { } gen [%i] of "
      "(%m): 1.0 !8 ret %a }";
  const Trap extent = TrapOf(sizes, {Tensor::I64(-1), Tensor::I64(3)});
  CHECK(extent.kind == ir::TrapKind::kNegativeSize);
  CHECK(extent.a == -1);
  const Trap shape = TrapOf(sizes, {Tensor::I64(1), Tensor::I64(-2)});
  CHECK(shape.kind == ir::TrapKind::kNegativeSize);
  CHECK(shape.a == -2);
  CHECK(shape.loc == 8);
}

TEST_CASE("a trap in a function that a body calls ends the run") {
  const Trap t = TrapOf(R"(
entry @f
fn @f() -> (i64) {
b0: %s = each(i < 3) { %v = call @g(%i) } sum []: %v
    ret %s
}
fn @g(%i: i64) -> (i64) {
b0: %q = div 1, sub(%i, 1) !6
    ret %q
})");
  CHECK(t.kind == ir::TrapKind::kDivideByZero);
  CHECK(t.loc == 6);
}

// --- cost

const char* const kCost = R"(
entry @f
fn @f(%x: [*]f64) -> (f64) {
b0: %n = dim %x, 0
    %s = each(i < %n) where (1 <= %i) {
      %a = index %x[%i]
      %b = call @h(%a)
      %g = gt %b, 0.0
      %c = select %g, %b, 0.0
      %d = smul %c, %a
    } sum []: %d
    ret %s
}
fn @h(%x: f64) -> (f64) {
b0: ret add(mul(%x, %x), sin(%x))
})";

TEST_CASE("the cost counts float operations and n - 1 additions for n present terms") {
  const Result r = RunText(kCost, {Vec(std::vector<double>(5, 1.0))});
  CHECK(r.cost.ops == 4 * (3 + 1) + 3);
}

TEST_CASE("a call from a body may be a black box of known cost") {
  Limits limits;
  limits.call_cost = 1;
  CHECK(RunText(kCost, {Vec(std::vector<double>(5, 1.0))}, limits).cost.ops == 4 * (1 + 1) + 3);
  limits.call_cost = 0;
  CHECK(RunText(kCost, {Vec(std::vector<double>(5, 1.0))}, limits).cost.ops == 4 * 1 + 3);
}

TEST_CASE("integer arithmetic, casts and index arithmetic are free") {
  const Result r = RunText(R"(
fn @f(%n: i64) -> (f64) {
b0: %s = each(i < %n) {
      %k = mul %i, 3
      %h = affine 2*%i + %k
      %v = cast %h : f64
    } sum []: %v
    ret %s
})",
                           {Tensor::I64(10)});
  CHECK(r.cost.ops == 9);
  CHECK(r.values[0].At<double>(0) == 225.0);
}

TEST_CASE("scans store the state before each point and start anew") {
  const Result r =
      RunText(R"(
fn @f(%a: [*,*]f64, %x: [*]f64) -> ([*,*]f64, [*,*]f64, [*]f64, [*]f64, [*]f64) {
b0:
  %n = dim %a, 0
  %m = dim %a, 1
  %p, %s = each(i < %n, j < %m) {
    %v = index %a[%i, %j]
  } scan_prod 1 [%i, %j] of (%n, %m): %v, scan_sum 0 [%i, %j] of (%n, %m): %v
  %k = dim %x, 0
  %l, %h, %g = each(i < %k) {
    %v = index %x[%i]
    %odd = lt %v, 0.0
    %pos = not %odd
  } scan_linear 0 [%k - 1 - %i] of (%k): %v, 1.0,
    scan_max 0 [%i] of (%k): %v, scan_min 0 [%i] of (%k): %v if %pos
  ret %p, %s, %l, %h, %g
})",
              {Tensor::Of<double>(DType::kF64, {2, 3}, {2, 0, 3, 4, 5, 6}), Vec({2, -1, 3, 7})});
  CHECK(Doubles(r.values[0]) == std::vector<double>{1, 2, 0, 1, 4, 20});
  CHECK(Doubles(r.values[1]) == std::vector<double>{0, 2, 2, 5, 9, 14});
  CHECK(Doubles(r.values[2]) == std::vector<double>{1, 0, 1, 0});  // 0, 1, 0, 1 from the end
  CHECK(Doubles(r.values[3]) == std::vector<double>{-kInf, 2, 2, 3});
  CHECK(Doubles(r.values[4]) == std::vector<double>{kInf, 0, 2, 2});
}

TEST_CASE("scans have a state for each point of the indices beside them") {
  const Result r = RunText(R"(
fn @f(%a: [*,*,*]f64) -> ([*,*,*]f64, [*,*,*]f64) {
b0:
  %l = dim %a, 0
  %n = dim %a, 1
  %m = dim %a, 2
  %p, %s = each(i < %l, j < %n, k < %m) {
    %v = index %a[%i, %j, %k]
  } scan_sum 0 beside 1 [%i, %j, %k] of (%l, %n, %m): %v,
    scan_linear 1 beside 1 [%i, %j, %k] of (%l, %n, %m): 2.0, %v
  ret %p, %s
})",
                           {Tensor::Of<double>(DType::kF64, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
  CHECK(Doubles(r.values[0]) == std::vector<double>{0, 0, 1, 2, 4, 6, 9, 12});
  CHECK(Doubles(r.values[1]) == std::vector<double>{0, 0, 1, 2, 0, 0, 5, 6});
  CHECK(r.cost.ops == 6 + 8);  // what is joined to the first state is free
}

TEST_CASE("argmax and argmin: the first of equals, the first NaN, -1 of nothing") {
  const double nan = std::nan("");
  const Result r =
      RunText(R"(
fn @f(%a: [*,*]f64, %x: [*]f64) -> ([*]i64, [*]i64, i64, i64, [*]i64, [*]i64, [*,*]i64) {
b0:
  %n = dim %a, 0
  %m = dim %a, 1
  %p, %q = each(i < %n, j < %m) {
    %v = index %a[%i, %j]
    %g = ne %v, 9.0
  } argmax [%i] of (%n): %v if %g, argmin [%i] of (%n): %v if %g
  %k = dim %x, 0
  %l, %h = each(i < %k, j < 2) {
    %v = index %x[%i]
  } argmax []: %v, argmin []: %v
  %s, %t, %r = each(j < %m, i < %n) {
    %v = index %a[%i, %j]
    %g = ne %v, 9.0
  } argmax [%i] of (%n): %v if %g, argmin [%i] of (%n): %v if %g, gen [%j, %i] of (%m, %n): 0
  %u = each(c < 2, j < %m, i < %n) {
    %v = index %a[%i, %j]
    %w = cast %c : f64
    %z = mul %v, %w
  } argmax [%i, %c] of (%n, 2): %z
  ret %p, %q, %l, %h, %s, %t, %u
})",
              {Tensor::Of<double>(DType::kF64, {5, 3},
                                  {1, 2, 2, -kInf, -kInf, -kInf, 1, nan, nan, 9, 9, 9, 9, 4, 4}),
               Vec({3, 1, 5})});
  const auto ints = [&](size_t k) {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < r.values[k].ElementCount(); ++i)
      out.push_back(r.values[k].At<int64_t>(i));
    return out;
  };
  CHECK(ints(0) == std::vector<int64_t>{1, 0, 1, -1, 1});
  CHECK(ints(1) == std::vector<int64_t>{0, 0, 1, -1, 1});
  CHECK(ints(2) == std::vector<int64_t>{4});
  CHECK(ints(3) == std::vector<int64_t>{2});
  // Elements whose terms come in turns have the same places.
  CHECK(ints(4) == ints(0));
  CHECK(ints(5) == ints(1));
  CHECK(ints(6) == std::vector<int64_t>{0, 1, 0, 0, 1, 1, 0, 0, 0, 0});
}

}  // namespace
}  // namespace pullback::eval
