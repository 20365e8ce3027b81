// Windows of rows of which turns take every second, or third, one, with the bits of the whole array.
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

constexpr int64_t kManyRows = 200;

// Of z = x @ w, [n, 4], and the gradient by all.
void CheckHoldsSteps(const std::string& loss, int64_t least) {
  const std::string text =
      "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n  let z = tanh.(x @ w)\n" + loss + "\n}";
  INFO(text);
  const ir::Module ssa = testing::LowerText(text, "f");
  const auto args = [](int64_t n) { return std::vector<Tensor>{Ramp({n, 3}), Ramp({3, 4})}; };
  testing::CheckDerivatives(ssa, args(11));
  for (const Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
    const ir::Module module = testing::Derived(ssa, transform);
    for (const int64_t n : {0, 1, 2, 3, 4, 7, 16, 17, 31, 32, 33, 34, 35, 64, 65, 97}) {
      if (n >= least) RunBoth(module, args(n), Traps::kSame, kRows);
    }
    const int64_t results = transform == Transform::kValue ? 0 : kManyRows * 3 + 12;
    CHECK(ElementsMade(module, args(kManyRows), LowerOptions{}) >= kManyRows * 4);
    CHECK(ElementsMade(module, args(kManyRows), kRows) - results < 3 * 40 * 4 + 1024 * 4);
  }
}

TEST_CASE("windows by steps: every second, and third, row with its neighbours") {
  CheckHoldsSteps(
      "  return sum i < (n - 1) / 2 { let e = sum q < 3, l < h { z[2 * i + q, l] * w[q, l] }; "
      "sqrt(1.0 + e * e) }",
      3);
  CheckHoldsSteps(
      "  return sum i < (n - 2) / 3 { let e = sum q < 5, l < h { z[3 * i + q, l] * w[q / 2, l] }; "
      "exp(0.1 * e) }",
      5);
  CheckHoldsSteps(
      "  return sum i < n / 2, l < h { let e = z[2 * i + 1, l] - z[2 * i, l]; e * e * e }", 0);
}

TEST_CASE("windows by steps: layers of them, and what reads their rows") {
  CheckHoldsSteps(
      "  let y = gen i < (n - 1) / 2, l < h { tanh(z[2 * i, l] + z[2 * i + 1, l] * z[2 * i + 2, "
      "l]) "
      "}\n"
      "  return sum i < ((n - 1) / 2 - 1) / 2, l < h { let e = y[2 * i + 2, l] - y[2 * i, l]; e * "
      "e }",
      7);
  CheckHoldsSteps(
      "  let y = gen i < (n - 1) / 2, l < h { sin(z[2 * i, l] * z[2 * i + 2, l]) }\n"
      "  return sum i < (n - 1) / 2 - 1, l < h { let e = y[i + 1, l] - y[i, l] * z[2 * i + 1, l]; "
      "e "
      "* e }",
      5);
}

TEST_CASE("windows by steps: rows that several turns take") {
  CheckHoldsSteps(
      "  return sum i < 2 * n, l < h { let e = z[i / 2, l] * (1.0 + 0.1 * f64(i)); e * e * e }", 0);
  CheckHoldsSteps(
      "  return sum i < 3 * n - 3 { log(1.0 + exp(sum q < 3, l < h { z[(i + q) / 3, l] * w[q, l] "
      "})) }",
      1);
  CheckHoldsSteps(
      "  let p = gen i < n / 2, l < h { sin(z[2 * i, l] * z[2 * i + 1, l]) }\n"
      "  return sum i < 2 * (n / 2), l < h { let e = z[i, l] - p[i / 2, l]; e * e }",
      0);
}

// What is cheap is not made again for a reader that takes a window of it.
TEST_CASE("windows by steps: down by two, and up with what was there") {
  const ir::Module ssa = testing::LowerText(
      "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, h]f64, v: [h, k]f64) -> f64 {\n"
      "  let z = tanh.(x @ w)\n"
      "  let p = gen i < n / 2, l < h { 0.5 * (z[2 * i, l] + z[2 * i + 1, l]) }\n"
      "  let q = tanh.(p @ u)\n"
      "  let r = gen i < 2 * (n / 2), l < h { z[i, l] + q[i / 2, l] }\n"
      "  return sum i < 2 * (n / 2) { logsumexp(r[i] @ v) }\n}",
      "f");
  const ir::Module gradient = testing::Derived(ssa, Transform::kValueAndGrad);
  const auto args = [](int64_t n) {
    return std::vector<Tensor>{Ramp({n, 2}), Ramp({2, 4}), Ramp({4, 4}), Ramp({4, 3})};
  };
  for (const int64_t n : {0, 1, 2, 17, 33, 70}) RunBoth(gradient, args(n), Traps::kSame, kRows);
  const int64_t more = ElementsMade(gradient, args(4 * kManyRows), kRows) -
                       ElementsMade(gradient, args(kManyRows), kRows);
  CHECK(more < 3 * kManyRows * 3);  // the result has two numbers a row
}

TEST_CASE("windows by steps: each set of a batch has its own") {
  const ir::Module ssa = testing::LowerText(
      "fn f(x: [b, n, d]f64, w: [d, h]f64) -> f64 {\n"
      "  let z = gen s < b { x[s] @ w }\n"
      "  return sum s < b, i < (n - 1) / 2, l < h { let e = z[s, 2 * i + 2, l] - z[s, 2 * i, l]; e "
      "* e }\n}",
      "f");
  const ir::Module gradient = testing::Derived(ssa, Transform::kValueAndGrad);
  for (const int64_t n : {1, 16, 17, 70})
    RunBoth(gradient, {Ramp({3, n, 2}), Ramp({2, 4})}, Traps::kSame, kRows);
  const int64_t made = ElementsMade(gradient, {Ramp({3, kManyRows, 2}), Ramp({2, 4})}, kRows);
  CHECK(made - 3 * kManyRows * 2 < 3 * 40 * 4 + 1024 * 4);
}

// Many rows, of which a strip carries no more than two for each that it makes.
TEST_CASE("windows by steps: of many rows, far away, and by many at once") {
  for (const char* body : {"sum i < n - 49, l < h { (sum j < 50 { z[i + j, l] }) ** 2 }",
                           "sum i < n, l < h { sin(z[i, l]) } + sum i < n - 40, l < h { (z[i + 40, "
                           "l] - z[i, l]) ** 2 }",
                           "sum b < n / 24, l < h { (sum j < 24 { z[24 * b + j, l] }) ** 2 } + sum "
                           "i < n { norm2(z[i]) ** 2 "
                           "}",
                           "sum b < n / 60, l < h { (max j < 60 { z[60 * b + j, l] }) ** 2 } + sum "
                           "i < n - 9 { dot(z[i], "
                           "z[i + 9]) ** 2 }"}) {
    INFO(body);
    const ir::Module ssa = testing::LowerText(
        std::string("fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n  let z = tanh.(x @ w)\n"
                    "  return ") +
            body + "\n}",
        "f");
    const ir::Module gradient = testing::Derived(ssa, Transform::kValueAndGrad);
    const auto args = [](int64_t n) { return std::vector<Tensor>{Ramp({n, 2}), Ramp({2, 4})}; };
    for (const int64_t n : {39, 40, 41, 49, 50, 59, 60, 61, 120, 199, 333}) {
      if (n >= 49 || std::string(body).find("49") == std::string::npos)
        RunBoth(gradient, args(n), Traps::kSame, kRows);
    }
    const int64_t more = ElementsMade(gradient, args(10 * kManyRows), kRows) -
                         ElementsMade(gradient, args(5 * kManyRows), kRows);
    CHECK(more <=
          5 * kManyRows * 4);  // the result has two numbers a row, and sums of rows have one
  }
}

// Two arrays of which a loop would have to be at two paces stay, and so do rows too far apart.
TEST_CASE("windows by steps: rows that are read at two paces stay") {
  for (const char* read : {"2, l < h { let e = z[2 * i, l] - z[i, l] * z[2 * i + 1, l]",
                           "65, l < h { let e = z[65 * i, l] - z[i, l]"}) {
    const ir::Module ssa = testing::LowerText(
        std::string("fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n  let z = x @ w\n"
                    "  return sum i < (n - 1) / ") +
            read + "; e * e }\n}",
        "f");
    const ir::Module value = testing::Derived(ssa, Transform::kValue);
    const std::vector<Tensor> args = {Ramp({kManyRows, 3}), Ramp({3, 4})};
    CHECK(ElementsMade(value, args, kRows) >= kManyRows * 4);
    RunBoth(value, args, Traps::kSame, kRows);
  }
}

// Statements over rows of arrays, of which some have a half, a third, … as many rows as the first: they read rows by steps, by part
// of a step, and near ones.
class RandomSteps {
 public:
  explicit RandomSteps(int seed) : rng_(static_cast<unsigned>(seed)) {}

  std::string Make() {
    std::string text =
        "fn @f(%y: [*]f64, %o: [*]f64) -> (f64, [*]f64) {\nb0:\n  %m = dim %y, 0\n"
        "  %q = dim %o, 0\n"
        "  %a0 = each(i < %q, j < %m) {\n    %u = index %y[%j]\n    %n = affine %i + 1\n"
        "    %f = cast %n : f64\n    %v = mul %u, %f\n    %w = sin %v\n"
        "  } gen [%i, %j] of (%q, %m): %w\n";
    arrays_ = {{"%a0", "%q", 0, 1}};
    const int count = 2 + Draw(4);
    for (int k = 1; k <= count; ++k) text += Statement(k);
    const Array last = arrays_.back();
    text += "  %s = each(i < " + last.rows + ", j < %m) {\n    %u = index " + last.name +
            "[%i, %j]\n    %w = sin %u\n  } sum []: %w\n";
    text += "  %c = each(i < " + last.rows + ", j < %m) {\n    %u = index " + last.name +
            "[%i, %j]\n    %w = cos %u\n  } sum [%j] of (%m): %w\n";
    return text + "  ret %s, %c\n}\n";
  }

 private:
  struct Array {
    std::string name, rows;
    int shorter, period;  // there are (%q - shorter) / period rows
  };
  int Draw(int below) { return static_cast<int>(rng_() % static_cast<unsigned>(below)); }

  std::string Statement(int k) {
    const std::string id = std::to_string(k);
    const Array& of = arrays_[arrays_.size() - 1 - static_cast<size_t>(Draw(3) == 0 ? Draw(k) : 0)];
    Array made{"%a" + id, "%q" + id, 0, of.period};
    for (const Array& a : arrays_) made.shorter = std::max(made.shorter, a.shorter);
    const int step = 2 + Draw(2);
    const bool finer = of.period % step == 0 && Draw(2) == 0;
    if (finer)
      made.period /= step;
    else if (Draw(3) > 0 && made.period * step <= 6)
      made.period *= step;
    made.shorter += Draw(3) * of.period;
    std::string text = "  %t" + id + " = affine %q - " + std::to_string(made.shorter) + "\n  " +
                       made.rows + " = div %t" + id + ", " + std::to_string(made.period) + "\n";
    text += finer ? ByParts(made, of, step) : BySteps(made);
    arrays_.push_back(made);
    return text;
  }
  // Row r of what has fewer rows is used by turns step * r + first to step * r + last.
  std::string ByParts(const Array& made, const Array& of, int step) {
    const int first = Draw(3) - 1, last = first + Draw(4);
    const std::string row = std::to_string(step) + "*%k";
    return "  " + made.name + " = each(i < " + made.rows + ", j < %m, k < " + of.rows +
           ") where (" + row + Plus(first) + " <= %i and %i <= " + row + Plus(last) +
           ") {\n    %u = index " + of.name + "[%k, %j]\n    %w = sin %u\n  } sum [%i, %j] of (" +
           made.rows + ", %m): %w\n";
  }
  static std::string Plus(int constant) {
    return (constant < 0 ? " - " : " + ") + std::to_string(std::abs(constant));
  }
  std::string BySteps(const Array& made) {
    std::string text = "  " + made.name + " = each(i < " + made.rows + ", j < %m) {\n";
    int reads = 0;
    for (int tries = 0; tries < 6 && reads < 3; ++tries) {
      const Array& of =
          arrays_[Draw(3) ? arrays_.size() - 1
                          : static_cast<size_t>(Draw(static_cast<int>(arrays_.size())))];
      if (made.period % of.period != 0) continue;
      text += Read(reads++, made, of);
    }
    if (reads == 0) text += "    %w0 = index %y[%j]\n";
    return text + "    %w = sin %w" + std::to_string(reads) + "\n  } gen [%i, %j] of (" +
           made.rows + ", %m): %w\n";
  }
  std::string Read(int r, const Array& made, const Array& of) {
    const std::string number = std::to_string(r);
    const int step = made.period / of.period;
    const std::string row = (step == 1 ? "" : std::to_string(step) + "*") + std::string("%i");
    std::string text;
    if (Draw(3) == 0) {
      const int back = 1 + Draw(2);
      const std::string least = std::to_string((back + step - 1) / step);
      text = "    %g" + number + " = holds (" + least + " <= %i)\n    %u" + number + " = index " +
             of.name + "[" + row + " - " + std::to_string(back) + ", %j] if %g" + number + "\n";
    } else {
      const int most = step - 1 + (made.shorter - of.shorter) / of.period;
      text = "    %u" + number + " = index " + of.name + "[" + row + " + " +
             std::to_string(Draw(std::min(most, 5) + 1)) + ", %j]\n";
    }
    return text + "    %p" + number + " = mul " + (r == 0 ? "1.5" : "%w" + number) +
           ", 0.5\n    %w" + std::to_string(r + 1) + " = add %p" + number + ", %u" + number + "\n";
  }

  std::mt19937 rng_;
  std::vector<Array> arrays_;
};

TEST_CASE("windows by steps: random statements") {
  constexpr int kRandom = testing::RandomCount(300);
  int smaller = 0;
  for (int seed = 0; seed < kRandom; ++seed) {
    const std::string text = RandomSteps(seed).Make();
    INFO(text);
    const ir::Module module = ParseIr(text);
    for (const int64_t q : {0, 1, 3, 12, 16, 17, 18, 33, 40, 50, 97, 270})
      RunBoth(module, {Ramp({2}), Ramp({q})}, Traps::kSame, kRows);
    const std::vector<Tensor> args = {Ramp({3}), Ramp({4 * kManyRows})};
    smaller += ElementsMade(module, args, kRows) < ElementsMade(module, args, LowerOptions{}) / 2;
  }
  std::printf("random windows by steps: %d of %d hold less than half\n", smaller, kRandom);
  CHECK(smaller > kRandom / 2);
}

}  // namespace
}  // namespace pullback::loops
