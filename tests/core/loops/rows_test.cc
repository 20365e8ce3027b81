// Arrays that are used row by row hold one row, with the bits of the whole array.
#include <catch2/catch.hpp>
#include <cstdio>
#include <random>

#include "core/eval/interpreter.h"
#include "core/loops/strip_loops.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/loops/rows.h"
#include "tests/core/loops/testing.h"
#include "tests/support/derivatives.h"
#include "tests/support/settings.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

// Over x [n, m] and y [n].
std::string Statements(const std::string& text) {
  return "fn @f(%x: [*,*]f64, %y: [*]f64) -> (f64, [*]f64) {\nb0:\n  %n = dim %x, 0\n  %m = dim "
         "%x, 1\n" +
         text + "\n  ret %s, %r\n}\n";
}
const std::string kMake = R"(  %a = each(i < %n, j < %m) {
    %u = index %x[%i, %j]
    %v = exp %u
  } gen [%i, %j] of (%n, %m): %v
)";
const std::string kTotal = R"(  %s = each(i < %n, j < %m) {
    %u = index %a[%i, %j]
    %v = index %a[%i, %m - %j - 1]
    %w = mul %u, %v
  } sum []: %w
)";
const std::string kSums = R"(  %r = each(i < %n, j < %m) {
    %u = index %a[%i, %j]
  } sum [%i] of (%n): %u
)";

Tensor Reversed(int64_t n) {
  std::vector<int64_t> places;
  for (int64_t k = n; k-- > 0;) places.push_back(k);
  return Ints(places);
}

std::vector<Tensor> Filled(int64_t n, int64_t m) { return {Ramp({n, m}), Ramp({n})}; }

bool HoldsRow(const std::string& text) {
  const std::string loops = PrintLoops(text, kRows);
  return loops.find("alloc f64 [%n, %m]") == std::string::npos;
}

void CheckAll(const std::string& text) {
  const ir::Module module = ParseIr(text);
  for (const auto& [n, m] :
       {std::pair<int64_t, int64_t>{3, 4}, {1, 1}, {4, 1}, {1, 5}, {0, 3}, {3, 0}})
    RunBoth(module, Filled(n, m));
}

TEST_CASE("rows: loops over the rows of an array become one, and the array a row") {
  const std::string text = Statements(kMake + kTotal + kSums);
  CHECK(HoldsRow(text));
  CheckAll(text);
  const ir::Module module = ParseIr(text);
  CHECK(ElementsMade(module, Filled(30, 50), LowerOptions{}) == 30 * 50 + 30);
  CHECK(ElementsMade(module, Filled(30, 50), kRows) == 50 + 30);
  // However long the rows would be, of no rows there is nothing.
  CHECK(ElementsMade(module, {Tensor{DType::kF64, {0, int64_t{1} << 30}, {}}, Ramp({0})}, kRows) ==
        0);
}

TEST_CASE("rows: the gradient of a product inside another index holds a row at a time") {
  const std::string start = "fn f(x: [n]f64, y: [n]f64) -> f64 { return sum i < n { ";
  const std::string programs[] = {
      start + "prod j < n { 1.0 + x[i] * y[j] } } }",
      start + "y[i] * prod j < i { x[j] } } }",
      start + "sum(scan prod j < n { x[i] + y[j] }) } }",
      "fn f(x: [n]f64, y: [n]f64) -> f64 { let d = gen i < n, j < n { x[i] - y[j] }; "
      "let e = exp.(-d * d); return sum(e) + sum(e * d) }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module gradient =
        testing::Derived(testing::LowerText(text, "f"), Transform::kValueAndGrad);
    constexpr int64_t kSize = 40;
    const std::vector<Tensor> args = {Ramp({kSize}), Ramp({kSize})};
    CHECK(ElementsMade(gradient, args, LowerOptions{}) > 2 * kSize * kSize);
    CHECK(ElementsMade(gradient, args, kRows) < 12 * kSize);
  }
}

TEST_CASE(
    "rows: the gradient by the inner array alone holds a row at a time, of the innermost index") {
  struct {
    std::string text;
    std::vector<bool> wrt;
    int axes;  // of what is kept without it
    int arrays = 2;
  } const programs[] = {
      {"return sum i < n { prod j < n { 1.0 + x[i] * y[j] } }", {false, true, false}, 2},
      {"return sum i < n { prod j < n { 1.0 + x[i] * y[j] * z[j] } }", {false, true, true}, 2},
      {"return sum i < n, a < n { prod j < n { x[i] + y[a] * z[j] } }", {false, true, false}, 3},
      {"return sum i < n, a < n { prod j < n { x[i] + y[a] * z[j] } }", {true, true, true}, 3},
      {"return sum i < n, a < n { prod j < a { x[i] * z[j] + y[a] } }", {false, true, false}, 3},
      {"return sum i < n { sum a < n { sum(scan prod j < n { x[i] + y[a] * z[j] }) } }",
       {true, true, false},
       3},
      {"let d = gen i < n, a < n, j < n { x[i] - y[a] * z[j] }; let e = exp.(-d * d); "
       "return sum(e) + sum(e * d)",
       {false, true, false},
       3},
      // One integer, which is no f32, as numbers of two kinds.
      {"return sum i < n, a < n { let b = i + 16777217; "
       "prod j < n { y[a] * z[j] + f64(b) / 1.0e8 - f64(f32(b)) / 2.0e8 } }",
       {false, true, true},
       3},
      // Subscripts that are data, which the primal has checked.
      {"return sum i < n { prod j < n { 1.0 + x[i] * y[k[j]] } }", {false, true, false}, 2},
      {"return sum i < n { prod j < i { 1.0 + x[i] * y[k[j]] } }", {true, true, false}, 2},
      {"return sum i < n { sum(scan prod j < n { x[k[i]] + y[k[j]] }) }", {true, true, false}, 2},
      // One product over all pairs, sums and products inside the product.
      {"return prod i < n { prod j < n { 1.0 + x[i] * y[j] } }", {false, true, false}, 2},
      {"return sum a < n { prod i < n, j < n { 1.0 + x[i] * y[a] * z[j] } }",
       {true, true, true},
       3},
      {"return sum i < n { prod j < n { 1.0 + sum l < n { x[i] * y[j] * z[l] } } }",
       {true, true, true},
       2},
      {"return sum i < n { prod j < n { 1.0 + prod l < n { x[i] * y[j] + z[l] } } }",
       {false, true, true},
       3},
      // Ranges that other indices end: what no loop visits has no first value either.
      {"return sum i < n { y[i] * prod j < i { y[i] * prod a < i { 1.0 + y[j] * z[a] } } }",
       {true, true, true},
       3},
      {"return sum i < n { sum j < i { sin(max a < n { x[j] * z[a] - x[i] }) * y[i] } }",
       {true, false, true},
       2},
      {"return sum i < n { z[i] * x[i] * max j < n { 1.0 + sum a < n { x[i] * y[j] - x[j] } } }",
       {true, false, false},
       2,
       1},
  };
  for (const auto& [text, wrt, axes, arrays] : programs) {
    INFO(text);
    std::vector<bool> of = wrt;
    of.push_back(false);  // the places
    const ir::Module module = testing::LowerText(
        "fn f(x: [n]f64, y: [n]f64, z: [n]f64, k: [n]i64) -> f64 { " + text + " }", "f");
    testing::CheckDerivatives(module, {Ramp({4}), Ramp({4}), Ramp({4}), Reversed(4)}, 1e-5, of);
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, of);
    for (const int64_t n : {0, 1, 8, 20}) {
      const std::vector<Tensor> args = {Ramp({n}), Ramp({n}), Ramp({n}), Reversed(n)};
      CHECK(ElementsMade(gradient, args, kRows) <= 8 * (2 * n + 1));
      if (n > 8)
        CHECK(ElementsMade(gradient, args, LowerOptions{}) >
              arrays * (axes == 2 ? n * n : n * n * n));
    }
  }
}

TEST_CASE("rows: first values that functions give are given strip by strip") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [n]f64, m: i64) -> f64 { let a = gen i < m { tanh(f64(i)) }; "
      "return sum i < m { a[i] * prod j < n { x[j] * a[i] + f64(i) } } }",
      "f");
  CHECK(ElementsMade(module, {Ramp({3}), Tensor::I64(2000)}, kRows) <= 2 * kStripTurns);
  const auto loops = LowerToLoops(module, kRows);
  REQUIRE(loops.ok());
  CHECK(Print(*loops).find("for %strip in") != std::string::npos);
}

TEST_CASE("rows: what stores some of the elements first is no fill of the others") {
  const std::string start = "fn f(x: [n]f64) -> f64 { let a = gen i < n, j < n { ";
  const std::string programs[] = {
      start +
          "[i > 0] * (1.0 + f64(i * j)) }; "
          "return sum i < n { prod j < n { a[i, j] + a[i, n - 1 - j] * x[i] + 1.0 } } }",
      start +
          "[j > 0] * (1.0 + f64(i * j)) }; "
          "return sum i < n { prod j < n { a[i, j] + a[i, n - 1 - j] * x[i] + 1.0 } } }",
      // One that a total goes into, beside a matrix which is read before and after that.
      "fn mk(x: [n]f64) -> [n, n]f64 { return gen i < n, j < n { exp(x[i] * x[j]) } }\n"
      "fn f(x: [n]f64) -> f64 { let m = mk(x); let s = sum i < n { prod j < n { m[i, j] } }; "
      "let a = gen i < n, j < n { [j > 0] * (s + f64(i * j)) }; "
      "return sum i < n { prod j < n { a[i, j] + a[i, n - 1 - j] * m[i, j] } } }",
      "fn mk(x: [n]f64) -> [n, n]f64 { return gen i < n, j < n { exp(x[i] * x[j]) } }\n"
      "fn f(x: [n]f64) -> f64 { let m = mk(x); let s = sum i < n { prod j < n { m[i, j] } }; "
      "let a = gen i < n, j < n { s + f64(i - i) }; "
      "return sum i < n { prod j < n { a[i, j] + a[i, n - 1 - j] * m[i, j] } } }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module = testing::LowerText(text, "f");
    testing::CheckDerivatives(module, {Ramp({3})});
    for (const auto t : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module derived = testing::Derived(module, t);
      for (const int64_t n : {0, 1, 3}) RunBoth(derived, {Ramp({n})});
    }
  }
}

TEST_CASE("rows: a subscript that is out of range traps before any turn relies on it") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [n]f64, y: [n]f64, k: [n]i64) -> f64 { return sum i < n { sum(scan prod j < n { "
      "x[i] + y[k[j]] }) } }",
      "f");
  const ir::Module gradient =
      testing::Derived(module, Transform::kValueAndGrad, {true, true, false});
  for (const std::vector<int64_t>& k : {std::vector<int64_t>{0, 1, 3}, {0, -1, 2}, {2, 1, 0}}) {
    const Outcome outcome = RunBoth(gradient, {Ramp({3}), Ramp({3}), Ints(k)});
    CHECK(outcome.trap.has_value() == (k[0] == 0));
  }
}

TEST_CASE(
    "rows: the gradient by coordinates of points, and that of a gradient, hold a row at a time") {
  const std::string start = "fn f(x: [n, 2]f64, y: [n]f64) -> f64 { return ";
  const std::string programs[] = {
      start + "sum i < n { sum(scan prod j < n { x[i, 0] + y[i] * x[j, 1] }) } }",
      start +
          "sum i < n { sum(scan prod j < n { 1.0 - x[i, 0] * x[j, 0] + x[i, 1] * x[j, 1] }) } }",
      start + "dot(y, grad(|t| sum i < n { prod j < n { 1.0 + x[i, 0] * t[j] } })(y)) }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module = testing::LowerText(text, "f");
    testing::CheckDerivatives(module, {Ramp({4, 2}), Ramp({4})});
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad);
    constexpr int64_t kSize = 40;
    const std::vector<Tensor> args = {Ramp({kSize, 2}), Ramp({kSize})};
    CHECK(ElementsMade(gradient, args, LowerOptions{}) > 2 * kSize * kSize);
    CHECK(ElementsMade(gradient, args, kRows) < 20 * kSize);
  }
}

TEST_CASE("rows: what stands in between goes along, in front or behind") {
  // The largest of each row, by which it is divided: an array of one axis, by its elements.
  CHECK(HoldsRow(Statements(kMake + R"(  %t = each(i < %n, j < %m) {
    %u = index %a[%i, %j]
  } max [%i] of (%n): %u
  %r = each(i < %n, j < %m) {
    %u = index %a[%i, %j]
    %v = index %t[%i]
    %w = div %u, %v
  } sum [%i] of (%n): %w
  %s = each(i < %n) {
    %u = index %t[%i]
  } sum []: %u)")));
  // A total that nothing in between needs comes behind; one of something else in front.
  CHECK(HoldsRow(Statements(kMake + kTotal + R"(  %e = exp %s
  %g = each(i < %n) {
    %u = index %y[%i]
  } sum []: %u
  %r = each(i < %n, j < %m) {
    %u = index %a[%i, %j]
    %w = mul %u, %g
  } sum [%i] of (%n): %w)")));
}

TEST_CASE("rows: arrays that are needed whole stay whole") {
  const auto stays = [](const std::string& rest) {
    const std::string text = Statements(kMake + rest);
    INFO(text);
    CHECK_FALSE(HoldsRow(text));
    CheckAll(text);
  };
  // A total stands between the loops.
  stays(kTotal + R"(  %r = each(i < %n, j < %m) {
    %u = index %a[%i, %j]
    %w = div %u, %s
  } sum [%i] of (%n): %w)");
  // By columns.
  stays(kTotal + R"(  %r = each(j < %m, i < %n) {
    %u = index %a[%i, %j]
  } sum [%j] of (%m): %u)");
  // Another row.
  stays(kTotal + R"(  %r = each(i < %n, j < %m) {
    %u = index %a[%n - %i - 1, %j]
  } sum [%i] of (%n): %u)");
}

TEST_CASE("rows: two loops that may trap become one, which ends at the first turn that fails") {
  const std::string text = Statements(R"(  %a = each(i < %n, j < %m) {
    %u = index %x[%i, %j]
    %k = cast %u : i64
    %v = index %y[%k] !1
  } gen [%i, %j] of (%n, %m): %v
  %r = each(i < %n, j < %m) {
    %u = index %a[%i, %j]
    %k = cast %u : i64
    %v = index %y[%k] !2
  } sum [%i] of (%n): %v
  %s = each(i < %n) {
    %v = index %r[%i]
  } sum []: %v)");
  CHECK(HoldsRow(text));
  const ir::Module module = ParseIr(text);
  RunBoth(module, {Matrix(2, 2, {0, 1, 0, 7}), Vector({0, 1})});  // one of them fails
  RunBoth(module, {Matrix(2, 2, {0, 1, 0, 1}), Vector({9, 0})});
  RunBoth(module, {Matrix(2, 2, {0, 1, 0, 1}), Vector({0, 1})});
  const std::vector<Tensor> both = {Matrix(2, 2, {0, 1, 0, 7}), Vector({9, 0})};
  CHECK(RunBoth(module, both, Traps::kAny, {.columns = true}).trap->loc == 1);
  CHECK(RunBoth(module, both, Traps::kAny, kRows).trap->loc == 2);
}

// What is read without a check may rest on one that stands in front of the loop, and is needed whole.
TEST_CASE("rows: a check that needs one of the loops stays in front of those that rely on it") {
  const std::string text = Statements(kMake + kTotal + R"(  %k = cast %s : i64
  %t = dim %y, 0
  %c = eq %n, %k
  check %c, size_mismatch, %n, %k !1
  %d = eq %t, %k
  check %d, size_mismatch, %t, %k !2
  %r = each(i < %n, j < %m) {
    %u = index %a[%i, %j]
    %v = index %y[%i]
    %w = mul %u, %v
  } sum [%i] of (%n): %w)");
  CHECK_FALSE(HoldsRow(text));
  for (const int64_t n : {1, 2}) {
    for (const int64_t t : {0, 1, 2})
      RunBoth(text, {Matrix(n, 1, std::vector<double>(static_cast<size_t>(n), 0.0)), Ramp({t})});
  }
}

// Statements that read and make arrays of [n, m], [n] and [m], each of those before by a random choice.
class RandomRows {
 public:
  explicit RandomRows(uint32_t seed) : rng_(seed) {}

  std::string Make() {
    std::string text =
        "fn @f(%a0: [*,*]f64, %v0: [*]f64, %m: i64) -> (f64, f64) {\nb0:\n  %n = dim %a0, 0\n";
    for (int k = 1; k <= 9; ++k) text += Statement(k);
    return text + "  %s = add %t1, %t2\n  %t = mul %t3, %t2\n  ret %s, %t\n}\n";
  }

 private:
  int Draw(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }

  std::string Statement(int k) {
    const std::string id = std::to_string(k);
    const bool total = k > 6;
    std::string body = Read("u", id) + Read("v", id) + "    %w" + id + " = " +
                       (Draw(2) ? "add" : "mul") + " %u" + id + ", %v" + id + "\n";
    std::string result;
    if (total) {
      result = "sum []: %w" + id;
      return "  %t" + std::to_string(k - 6) + " = each(i < %n, j < %m) {\n" + body + "  } " +
             result + "\n";
    }
    static const char* const kWhere[] = {"",
                                         "",
                                         "",
                                         " where (%j <= %i)",
                                         " where (%i <= %j + 1)",
                                         " where (2 <= %m)",
                                         " where (1 <= %n)"};
    const char* const where = kWhere[Draw(7)];
    switch (Draw(4)) {
      case 0:
        rows_.push_back("%v" + id);
        result = std::string(Draw(2) ? "sum" : "max") + " [%i] of (%n): %w" + id;
        break;
      case 1:
        arrays_.push_back("%v" + id);
        result = "scan_sum 1 [%i, %j] of (%n, %m): %w" + id;
        break;
      default:
        arrays_.push_back("%v" + id);
        result =
            "gen [%i, " + std::string(Draw(3) ? "%j" : "%m - %j - 1") + "] of (%n, %m): %w" + id;
    }
    return "  %v" + id + " = each(i < %n, j < %m)" + where + " {\n" + body + "  } " + result + "\n";
  }

  std::string Read(const std::string& name, const std::string& id) {
    std::string from;
    if (Draw(3) == 0) {
      from = Draw(4) == 0
                 ? "%v0[%i]"
                 : rows_[static_cast<size_t>(Draw(static_cast<int>(rows_.size())))] + "[%i]";
    } else {
      static const char* const kSubs[] = {"[%i, %j]",          "[%i, %j]", "[%i, %j]",
                                          "[%i, %m - %j - 1]", "[%i, 0]",  "[%n - %i - 1, %j]"};
      const size_t last = arrays_.size() - 1;
      const size_t which =
          Draw(2) ? last : static_cast<size_t>(Draw(static_cast<int>(arrays_.size())));
      from = arrays_[which] + kSubs[Draw(Draw(4) ? 5 : 6)];
    }
    return "    %" + name + id + " = index " + from + "\n";
  }

  std::mt19937 rng_;
  std::vector<std::string> arrays_ = {"%a0"}, rows_ = {"%v0"};
};

TEST_CASE("rows: random statements") {
  constexpr int kRandom = testing::RandomCount(300);
  int smaller = 0;
  for (int seed = 0; seed < kRandom; ++seed) {
    const std::string text = RandomRows(seed).Make();
    INFO(text);
    const ir::Module module = ParseIr(text);
    for (const auto& [n, m] : {std::pair<int64_t, int64_t>{3, 5}, {4, 1}, {0, 2}}) {
      const std::vector<Tensor> args = {Ramp({n, m}), Ramp({n}), Tensor::I64(m)};
      const int64_t whole = ElementsMade(module, args, LowerOptions{});
      smaller += ElementsMade(module, args, kRows) < whole;
    }
  }
  std::printf("random rows: %d of %d hold less\n", smaller, 3 * kRandom);
  CHECK(smaller > kRandom * 2 / 3);
}

}  // namespace
}  // namespace pullback::loops
