// Arrays of which turns read rows of other turns hold a window of rows, with the bits of the whole array.
#include <catch2/catch.hpp>
#include <cstdio>
#include <random>

#include "core/pipeline/pipeline.h"
#include "tests/core/loops/rows.h"
#include "tests/core/loops/testing.h"
#include "tests/support/derivatives.h"
#include "tests/support/settings.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

constexpr int64_t kLong = 100;

std::vector<std::vector<Tensor>> ArgsOf(const std::vector<int64_t>& numbers) {
  std::vector<std::vector<Tensor>> all;
  for (const int64_t n : numbers) all.push_back({Ramp({n, 3}), Ramp({3, 4})});
  return all;
}

// Of z = x @ w, [n, 4], and the gradient, whose cotangents would be as large.
void CheckHoldsWindow(const std::string& loss, int64_t least = 3) {
  const std::string text = "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n" + loss + "\n}";
  INFO(text);
  const ir::Module ssa = testing::LowerText(text, "f");
  testing::CheckDerivatives(ssa, ArgsOf({5})[0]);
  for (const Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
    const ir::Module module = testing::Derived(ssa, transform);
    const int64_t results = transform == Transform::kValue ? 0 : kLong * 3 + 12;
    for (const auto& args : ArgsOf({least, 15, 16, 17, 33}))
      RunBoth(module, args, Traps::kSame, kRows);
    const std::vector<Tensor> args = ArgsOf({kLong})[0];
    CHECK(ElementsMade(module, args, LowerOptions{}) >= kLong * 4);
    // Each window is of 16 rows and those that are read again.
    CHECK(ElementsMade(module, args, kRows) - results < 3 * 20 * 4 + 1024 * 4);
  }
}

TEST_CASE("windows: differences of rows hold a window") {
  const std::string z = "  let z = x @ w\n  return ";
  CheckHoldsWindow(z + "sum i < n - 1, l < h { let e = z[i + 1, l] - z[i, l]; e * e }", 1);
  CheckHoldsWindow(z + "sum i < n - 1 { norm2(z[i + 1] - z[i]) }", 1);
  CheckHoldsWindow(z + "sum i < n - 2, l < h { exp(z[i + 2, l] - 2.0 * z[i + 1, l] + z[i, l]) }",
                   2);
  CheckHoldsWindow(
      "  let z = tanh.(x @ w)\n  return sum i < n - 2 { log(1.0 + exp(dot(z[i + 1], z[i]) - "
      "dot(z[i + 1], z[i + 2]))) }",
      2);
}

TEST_CASE("windows: what is made of windows is a window") {
  CheckHoldsWindow(
      "  let z = tanh.(x @ w)\n"
      "  let s = gen i < n - 2, l < h { (z[i, l] + z[i + 1, l] + z[i + 2, l]) / 3.0 }\n"
      "  return sum i < n - 3, l < h { let e = s[i + 1, l] - s[i, l]; sqrt(1.0 + e * e) }");
}

TEST_CASE("windows: convolutions along rows hold as many rows as they are wide") {
  CheckHoldsWindow(
      "  let z = relu.(x @ w)\n"
      "  return sum i < n - 2 { let e = sum u < 3, l < h { z[i + u, l] * w[u, l] }; e * e }",
      2);
}

TEST_CASE("windows: convolutions of a width that an argument has") {
  const ir::Module ssa = testing::LowerText(
      "fn conv(z: [n, c]f64, b: [q, c, o]f64) -> [n - q + 1, o]f64 {\n"
      "  return gen i < n - q + 1, k < o { tanh(sum u < q, j < c { z[i + u, j] * b[u, j, k] }) "
      "}\n}\n"
      "fn f(x: [n, c]f64, a: [p, c, e]f64, b: [q, e, o]f64) -> f64 {\n"
      "  let y = conv(conv(x, a), b)\n  return sum(y * y)\n}",
      "f");
  const auto args = [](int64_t n, int64_t p, int64_t q) {
    return std::vector<Tensor>{Ramp({n, 2}), Ramp({p, 2, 5}), Ramp({q, 5, 3})};
  };
  testing::CheckDerivatives(ssa, args(7, 3, 2));
  for (const Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
    const ir::Module module = testing::Derived(ssa, transform);
    for (const auto& [p, q] : {std::pair<int64_t, int64_t>{1, 1}, {3, 2}, {2, 0}, {0, 2}, {4, 9}}) {
      for (const int64_t n : {0, 5, 16, 17, 40})
        RunBoth(module, args(n, p, q), Traps::kSame, kRows);
    }
    const int64_t results = transform == Transform::kValue ? 0 : kLong * 2 + 30 + 30;
    CHECK(ElementsMade(module, args(kLong, 3, 2), LowerOptions{}) > kLong * 8);
    CHECK(ElementsMade(module, args(kLong, 3, 2), kRows) - results < 3 * 24 * 5 + 1024 * 4);
  }
}

TEST_CASE("windows: each set of a batch has its own") {
  const ir::Module ssa = testing::LowerText(
      "fn f(x: [b, n, d]f64, w: [d, h]f64) -> f64 {\n"
      "  let z = gen s < b { x[s] @ w }\n"
      "  return sum s < b, i < n - 1, l < h { let e = z[s, i + 1, l] - z[s, i, l]; e * e }\n}",
      "f");
  const ir::Module gradient = testing::Derived(ssa, Transform::kValueAndGrad);
  for (const int64_t n : {1, 16, 17, 40})
    RunBoth(gradient, {Ramp({3, n, 2}), Ramp({2, 4})}, Traps::kSame, kRows);
  const int64_t made = ElementsMade(gradient, {Ramp({3, kLong, 2}), Ramp({2, 4})}, kRows);
  CHECK(made - 3 * kLong * 2 < 3 * 20 * 4 + 1024 * 4);
}

// A reviewer's: the rows of a window are as many as there are, if that is less; and a short array in between shortens no strip.
TEST_CASE("windows: few rows take no more room in a window") {
  const ir::Module ssa = testing::LowerText(
      "fn f(x: [n, d]f64, w: [d, h]f64, y: [p]f64) -> f64 {\n  let z = tanh.(x @ w)\n  let m = "
      "min(n, p)\n"
      "  let a = gen i < m, l < h { if i >= 1 { z[i, l] * z[i - 1, l] } else { z[i, l] } }\n"
      "  let c = sum i < m, l < h { if i >= 1 { sqrt(1.0 + a[i, l] * a[i - 1, l]) } else { 0.0 } "
      "}\n"
      "  return c + sum i < n, l < h { if i >= 31 and i + 15 < n { z[i + 15, l] * z[i - 31, l] } "
      "else { z[i, l] } }\n}",
      "f");
  const ir::Module value = testing::Derived(ssa, Transform::kValue);
  for (const int64_t n : {1, 2, 8, 16, 32, 48, 70}) {
    for (const int64_t p : {0, 1, 20, 99}) {
      const std::vector<Tensor> args = {Ramp({n, 1}), Ramp({1, 5}), Ramp({p})};
      CHECK(ElementsMade(value, args, kRows) <= ElementsMade(value, args, LowerOptions{}));
    }
  }
}

TEST_CASE("windows: rows that are too many turns away stay") {
  const ir::Module ssa = testing::LowerText(
      "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n  let z = x @ w\n"
      "  return sum i < n - 40, l < h { let e = z[i + 40, l] - z[i, l]; e * e }\n}",
      "f");
  const std::vector<Tensor> args = ArgsOf({kLong})[0];
  CHECK(ElementsMade(testing::Derived(ssa, Transform::kValue), args, kRows) >= kLong * 4);
}

// However long the rows would be, of no rows there is nothing; and what nobody could make is an error.
TEST_CASE("windows: no rows, and too many") {
  const ir::Module module = ParseIr(R"(fn @f(%y: [*]f64, %q: i64) -> f64 {
b0:
  %m = dim %y, 0
  %z = each(i < %q, j < %m) {
    %f = cast %i : f64
    %u = index %y[%j]
    %v = mul %u, %f
  } gen [%i, %j] of (%q, %m): %v
  %k = affine %q - 1
  %s = each(i < %k, j < %m) where (2 <= %q) {
    %u = index %z[%i + 1, %j]
    %v = index %z[%i, %j]
    %w = mul %u, %v
  } sum []: %w
  ret %s
}
)");
  CHECK(ElementsMade(module, {Ramp({3}), Tensor::I64(50)}, kRows) < 20 * 3);
  for (const int64_t q : {1, 2, 50})
    RunBoth(module, {Ramp({3}), Tensor::I64(q)}, Traps::kSame, kRows);
  for (const int64_t q : {0, -1}) RunBoth(module, {Ramp({3}), Tensor::I64(q)}, Traps::kSame, kRows);
  CheckTooLong(module, {Ramp({0}), Tensor::I64(INT64_MAX)});
}

// Statements over rows i < %q, of which each reads rows of earlier ones that are known to be there, some of them as many as
// %p has elements.
class RandomWindows {
 public:
  explicit RandomWindows(int seed) : rng_(static_cast<unsigned>(seed)) {}

  std::string Make() {
    std::string text =
        "fn @f(%y: [*]f64, %p: [*]f64, %o: [*]f64) -> (f64, [*]f64, [*]f64) {\nb0:\n  %m = dim %y, "
        "0\n"
        "  %k = dim %p, 0\n  %q = dim %o, 0\n"
        "  %a0 = each(i < %q, j < %m) {\n    %u = index %y[%j]\n    %n = affine %i + 1\n"
        "    %f = cast %n : f64\n    %v = mul %u, %f\n    %w = sin %v\n"
        "  } gen [%i, %j] of (%q, %m): %w\n";
    arrays_ = {{"%a0", 0, 0, false}};
    const int count = 2 + Draw(4);
    for (int k = 1; k <= count; ++k) text += Statement(k);
    const Array last = arrays_.back();
    text += Loop("%s", last, "") + "  } sum []: %w\n";
    text += Loop("%r", last, "") + "  } sum [%i] of (" + rows_ + "): %w\n";
    text += Loop("%c", last, "") + "  } sum [%j] of (%m): %w\n";
    return text + "  ret %s, %r, %c\n}\n";
  }

 private:
  struct Array {
    std::string name;
    int shorter, windows;  // its rows are %q - shorter - windows * %k
    bool vector;
  };
  int Draw(int below) { return static_cast<int>(rng_() % static_cast<unsigned>(below)); }

  std::string Statement(int k) {
    Array made{"%a" + std::to_string(k), 0, 0, Draw(4) == 0};
    for (const Array& a : arrays_) {
      made.shorter = std::max(made.shorter, a.shorter);
      made.windows = std::max(made.windows, a.windows);
    }
    made.shorter += Draw(3);
    const bool window = Draw(3) == 0;
    made.windows += window;
    std::string text = Loop(made.name, made, window ? ", u < %k" : "");
    text += std::string("  } ") + (window || made.vector ? "sum" : "gen") + " [%i" +
            (made.vector ? "" : ", %j") + "] of (" + rows_ + (made.vector ? "" : ", %m") +
            "): %w\n";
    arrays_.push_back(made);
    return text;
  }
  // Up to the body's end; reads of one to three rows, of which some are read where they are there alone.
  std::string Loop(const std::string& name, const Array& made, const std::string& more) {
    const std::string id = std::to_string(next_++);
    rows_ = "%q" + id;
    std::string text = "  " + rows_ + " = affine %q - " + std::to_string(made.shorter);
    if (made.windows > 0) text += " - " + std::to_string(made.windows) + "*%k";
    text += "\n  " + name + " = each(i < " + rows_ + ", j < %m" + more + ") {\n";
    const int reads = 1 + Draw(3);
    for (int r = 0; r < reads; ++r) text += Read(r, made, !more.empty());
    return text + "    %w = sin %w" + std::to_string(reads) + "\n";
  }
  std::string Read(int r, const Array& made, bool window) {
    const Array& of =
        arrays_[Draw(3) ? arrays_.size() - 1
                        : static_cast<size_t>(Draw(static_cast<int>(arrays_.size())))];
    const std::string number = std::to_string(r), row = of.vector ? "" : ", %j";
    std::string text;
    if (Draw(3) == 0) {
      const std::string back = std::to_string(1 + Draw(2));
      text = "    %g" + number + " = holds (" + back + " <= %i)\n    %u" + number + " = index " +
             of.name + "[%i - " + back + row + "] if %g" + number + "\n";
    } else {
      const bool wide = window && of.windows < made.windows;
      text = "    %u" + number + " = index " + of.name + "[%i + " + (wide ? "%u + " : "") +
             std::to_string(Draw(made.shorter - of.shorter + 1)) + row + "]\n";
    }
    return text + "    %p" + number + " = mul " + (r == 0 ? "1.5" : "%w" + number) +
           ", 0.5\n    %w" + std::to_string(r + 1) + " = add %p" + number + ", %u" + number + "\n";
  }

  std::mt19937 rng_;
  std::vector<Array> arrays_;
  std::string rows_;
  int next_ = 0;
};

TEST_CASE("windows: ends that are made for loops that join others") {
  const ir::Module ssa = testing::LowerText(
      "fn f(x: [m, n, d]f64, w: [d, h]f64, b: [n]f64) -> f64 {\n  return sum s < m {\n"
      "    let z = x[s] @ w\n"
      "    let e = gen i < n { (sum l < h { z[i, l] * z[i, l] }) * z[i, 0] }\n"
      "    let t = sum i < n, j < n { e[i] * dot(z[j], z[j]) }\n"
      "    t + (sum i < n { dot(z[i], z[i]) })\n  }\n}\n",
      "f");
  for (const bool optimise : {false, true}) {
    const ir::Module module = testing::Derived(ssa, Transform::kValueAndGrad, {}, optimise);
    for (const int64_t n : {3, 20})
      RunBoth(module, {Ramp({2, n, 2}), Ramp({2, 2}), Ramp({n})}, Traps::kSame, kRows);
  }
}

TEST_CASE("windows: random statements") {
  constexpr int kRandom = testing::RandomCount(300);
  int smaller = 0;
  for (int seed = 0; seed < kRandom; ++seed) {
    const std::string text = RandomWindows(seed).Make();
    INFO(text);
    const ir::Module module = ParseIr(text);
    for (const int64_t q : {0, 1, 3, 12, 16, 17, 18, 40, 270}) {
      const int64_t width = seed % 4;
      RunBoth(module, {Ramp({2}), Ramp({width}), Ramp({q})}, Traps::kSame, kRows);
    }
    for (const int64_t q : {3, 12, 24, 40}) {
      const std::vector<Tensor> few = {Ramp({3}), Ramp({2}), Ramp({q})};
      CHECK(ElementsMade(module, few, kRows) <= ElementsMade(module, few, LowerOptions{}));
    }
    const std::vector<Tensor> args = {Ramp({3}), Ramp({2}), Ramp({4 * kLong})};
    smaller += ElementsMade(module, args, kRows) < ElementsMade(module, args, LowerOptions{}) / 2;
  }
  std::printf("random windows: %d of %d hold less than half\n", smaller, kRandom);
  CHECK(smaller > kRandom * 2 / 3);
}

}  // namespace
}  // namespace pullback::loops
