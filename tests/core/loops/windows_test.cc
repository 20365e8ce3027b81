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

// Statements over rows i < %q, of which each reads rows of earlier ones that are known to be there.
class RandomWindows {
 public:
  explicit RandomWindows(int seed) : rng_(static_cast<unsigned>(seed)) {}

  std::string Make() {
    std::string text =
        "fn @f(%y: [*]f64, %q: i64) -> (f64, [*]f64, [*]f64) {\nb0:\n  %m = dim %y, 0\n"
        "  %a0 = each(i < %q, j < %m) {\n    %u = index %y[%j]\n    %k = affine %i + 1\n"
        "    %f = cast %k : f64\n    %v = mul %u, %f\n    %w = sin %v\n  } gen [%i, %j] of (%q, "
        "%m): %w\n";
    arrays_ = {{"%a0", 0, false}};
    const int count = 2 + Draw(4);
    for (int k = 1; k <= count; ++k) text += Statement(k);
    const Array& last = arrays_.back();
    text += Loop("%s", last.shorter, "  } sum []: %w\n");
    text += Loop("%r", last.shorter, "  } sum [%i] of (");
    text += rows_ + "): %w\n";
    text += Loop("%c", last.shorter, "  } sum [%j] of (%m): %w\n");
    return text + "  ret %s, %r, %c\n}\n";
  }

 private:
  struct Array {
    std::string name;
    int shorter;  // its rows are %q - shorter
    bool vector;
  };
  int Draw(int below) { return static_cast<int>(rng_() % static_cast<unsigned>(below)); }

  std::string Statement(int k) {
    int shorter = 0;
    for (const Array& a : arrays_) shorter = std::max(shorter, a.shorter);
    shorter += Draw(3);
    const bool vector = Draw(4) == 0;
    const std::string name = "%a" + std::to_string(k);
    const std::string out = vector ? "  } sum [%i] of (" : "  } gen [%i, %j] of (";
    std::string text = Loop(name, shorter, out);
    text += rows_ + (vector ? "): %w\n" : ", %m): %w\n");
    arrays_.push_back({name, shorter, vector});
    return text;
  }
  // Up to the body's end; reads of one to three rows, of which some are read where they are there alone.
  std::string Loop(const std::string& name, int shorter, const std::string& end) {
    const std::string id = std::to_string(next_++);
    rows_ = "%q" + id;
    std::string text = "  " + rows_ + " = affine %q - " + std::to_string(shorter) + "\n  " + name +
                       " = each(i < " + rows_ + ", j < %m) {\n";
    const int reads = 1 + Draw(3);
    for (int r = 0; r < reads; ++r) {
      const Array& of =
          arrays_[Draw(3) ? arrays_.size() - 1
                          : static_cast<size_t>(Draw(static_cast<int>(arrays_.size())))];
      const int more = Draw(shorter - of.shorter + 1);
      const std::string number = std::to_string(r), next = std::to_string(r + 1),
                        total = r == 0 ? "1.5" : "%w" + number;
      const std::string row = of.vector ? "" : ", %j";
      if (Draw(3) == 0) {
        const std::string back = std::to_string(1 + Draw(2));
        text += "    %g" + number + " = holds (" + back + " <= %i)\n    %u" + number + " = index " +
                of.name + "[%i - " + back + row + "] if %g" + number + "\n";
      } else {
        text += "    %u" + number + " = index " + of.name + "[%i + " + std::to_string(more) + row +
                "]\n";
      }
      text += "    %p" + number + " = mul " + total + ", 0.5\n    %w" + next + " = add %p" +
              number + ", %u" + number + "\n";
    }
    return text + "    %w = sin %w" + std::to_string(reads) + "\n" + end;
  }

  std::mt19937 rng_;
  std::vector<Array> arrays_;
  std::string rows_;
  int next_ = 0;
};

TEST_CASE("windows: random statements") {
  constexpr int kRandom = testing::RandomCount(300);
  int smaller = 0;
  for (int seed = 0; seed < kRandom; ++seed) {
    const std::string text = RandomWindows(seed).Make();
    INFO(text);
    const ir::Module module = ParseIr(text);
    for (const int64_t q : {0, 1, 3, 12, 16, 17, 18, 40, 270})
      RunBoth(module, {Ramp({2}), Tensor::I64(q)}, Traps::kSame, kRows);
    const std::vector<Tensor> args = {Ramp({3}), Tensor::I64(kLong)};
    smaller += ElementsMade(module, args, kRows) < ElementsMade(module, args, LowerOptions{}) / 2;
  }
  std::printf("random windows: %d of %d hold less than half\n", smaller, kRandom);
  CHECK(smaller > kRandom * 9 / 10);
}

}  // namespace
}  // namespace pullback::loops
