// Programs whose arrays hold one row, or as much as a strip of turns, and what they would hold otherwise.
#include <catch2/catch.hpp>

#include "core/loops/strip_loops.h"
#include "core/loops/walk.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/loops/rows.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

TEST_CASE("rows: matrices that are made by rows and read by columns are made by columns") {
  const std::string start = "fn f(x: [n]f64, m: i64) -> f64 { let v = gen i < n, j < m { ";
  const std::string programs[] = {
      start +
          "prod k < n { x[k] + f64(i * j) } }; return sum j < m { (sum i < n { sin(v[i, j]) }) * "
          "f64(j) } }",
      start +
          "max k < n { x[k] * cos(f64(i + j)) } }; return sum j < m { abs(sum i < n { v[i, j] * "
          "x[i] "
          "}) } }",
      start +
          "sum k < n { 1.0 / (2.0 + cos(x[k] * f64(i * j))) } }; return sum j < m { prod i < n { "
          "v[i, j] } } }",
      // Read by columns of another matrix that is.
      start +
          "prod k < n { x[k] + f64(i * j) } }; let w = gen i < n, j < m { max k < n { x[k] * v[i, "
          "j] "
          "} }; return sum j < m { abs(sum i < n { w[i, j] }) } }",
      // Three axes, the last of which comes to the front.
      "fn f(x: [n]f64, m: i64) -> f64 { let v = gen i < n, a < 2, j < m { prod k < n { x[k] + "
      "f64(i * j + "
      "a) } }; return sum j < m { sin(sum i < n, a < 2 { v[i, a, j] * x[i] }) } }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module = testing::LowerText(text, "f");
    testing::CheckDerivatives(module, {Ramp({3}), Tensor::I64(4)}, 1e-5, {true, false});
    constexpr int64_t kMany = 300;
    const std::vector<Tensor> args = {Ramp({4}), Tensor::I64(kMany)};
    for (const auto t : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module derived = testing::Derived(module, t, {true, false});
      CHECK(ElementsMade(derived, args, kRows) < 2 * kMany);  // it would have 4 * 300 or more
      CHECK(ElementsMade(derived, args, LowerOptions{}) >= 4 * kMany);
      RunBoth(derived, {Ramp({0}), Tensor::I64(3)}, Traps::kSame, kRows);
      RunBoth(derived, {Ramp({3}), Tensor::I64(0)}, Traps::kSame, kRows);
      RunBoth(derived, {Ramp({3}), Tensor::I64(-1)}, Traps::kSame, kRows);
    }
  }
}

// Beside what is asked for there are rows, and where no side is asked for one matrix.
TEST_CASE("rows: the cotangents of both sides of a difference are one matrix") {
  const std::string programs[] = {
      "sum i < n, j < n { let d = a[i, j] - sum l < k { u[i, l] * v[l, j] }; d * d }",
      "sum i < n, j < n { log(1.0 + ((p @ q)[i, j] - (u @ v)[i, j]) ** 2) + 0.0 * a[0, 0] }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module = testing::LowerText(
        "fn f(a: [n, n]f64, p: [n, k]f64, q: [k, n]f64, u: [n, k]f64, v: [k, n]f64) -> f64 { "
        "return " +
            text + " }",
        "f");
    const auto args = [](int64_t n, int64_t k) {
      return std::vector<Tensor>{Ramp({n, n}), Ramp({n, k}), Ramp({k, n}), Ramp({n, k}),
                                 Ramp({k, n})};
    };
    std::vector<bool> wrt = {true, true, true, true, true};
    testing::CheckDerivatives(module, args(4, 2), 1e-5, wrt);
    wrt[0] = &text == programs;
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
    constexpr int64_t n = 40, k = 2;
    const int64_t made = ElementsMade(gradient, args(n, k), kRows);
    CHECK(made >= n * n);
    CHECK(made < n * n + 8 * n * k);
    RunBoth(gradient, args(0, 2), Traps::kSame, kRows);
    RunBoth(gradient, args(3, 0), Traps::kSame, kRows);
  }
}

// Coordinates of a pair's points have cotangents from both, and from the distance.
TEST_CASE("rows: forces between all pairs of points hold a row") {
  const ir::Module module = testing::LowerText(
      "fn f(p: [n, 3]f64, m: [n]f64) -> f64 { let a = gen i < n, k < 3 { sum j < n { [i != j] * "
      "m[j] * "
      "(p[j, k] - p[i, k]) / (0.01 + sum l < 3 { (p[j, l] - p[i, l]) ** 2 }) ** 1.5 } }; return "
      "sum i < "
      "n, k < 3 { a[i, k] ** 2 } }",
      "f");
  testing::CheckDerivatives(module, {Ramp({4, 3}), Ramp({4})}, 1e-5, {true, true});
  const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, true});
  for (const int64_t n : {50, 100}) {
    const std::vector<Tensor> args = {Ramp({n, 3}), Ramp({n})};
    CHECK(ElementsMade(gradient, args, kRows) < 20 * n);
    CHECK(ElementsMade(gradient, args, LowerOptions{}) >= n * n);
  }
  RunBoth(gradient, {Ramp({0, 3}), Ramp({0})}, Traps::kSame, kRows);
}

// They read what one loop makes and are read by another: a matrix is worth more than a vector.
TEST_CASE("rows: loops that could be part of either of two are part of the one that saves more") {
  const std::string start = "fn f(x: [n]f64, m: i64) -> f64 { let a = gen i < m { ";
  const std::string programs[] = {
      start +
          "abs(sum k < n { x[k] * f64(i) }) }; return sum i < m { (max l < m { a[l] }) * prod j < "
          "m { 0.9 + 0.01 * "
          "(prod l < m { 0.9 + 0.01 * a[i] }) } } }",
      start +
          "abs(sum k < n { x[k] * f64(i) }) }; return sum i < m { (sum l < m { a[l] }) * prod j < "
          "n { 0.9 + 0.01 * "
          "x[j] * (prod l < m { 0.9 + 0.01 * a[i] * f64(l) }) } } }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module = testing::LowerText(text, "f");
    testing::CheckDerivatives(module, {Ramp({3}), Tensor::I64(4)}, 1e-5, {true, false});
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, false});
    for (const int64_t m : {60, 120}) {
      const std::vector<Tensor> args = {Ramp({3}), Tensor::I64(m)};
      CHECK(ElementsMade(gradient, args, kRows) < 20 * m);
      CHECK(ElementsMade(gradient, args, LowerOptions{}) >= m * m);
    }
    RunBoth(gradient, {Ramp({0}), Tensor::I64(3)}, Traps::kSame, kRows);
    RunBoth(gradient, {Ramp({3}), Tensor::I64(0)}, Traps::kSame, kRows);
    RunBoth(gradient, {Ramp({3}), Tensor::I64(-1)}, Traps::kSame, kRows);
  }
}

// The gradient of what an extremum takes needs the partial products behind that alone, and no cotangent of the others.
TEST_CASE("rows: of what is behind an extremum there is what it takes") {
  const std::string start = "fn f(x: [n]f64, m: i64) -> f64 { return ";
  const std::string programs[] = {
      "max i < m { sum j < n { x[j] * f64(i) } }",
      "max i < m { prod j < n { x[j] + f64(i) } }",
      "sum i < n { max j < m { prod k < n { x[k] * x[i] + f64(j) } } }",
      "sum i < n { max j < m { prod k < n { 0.9 + 0.01 * x[i] } } }",
      "min i < m { prod j < n { (x[j] - 0.5) * sin(f64(i)) } }",
      // Also where something is made of it before it is chosen from.
      "max i < m { 1.0 / (2.0 + abs(sum j < n { x[j] * f64(i) })) }",
      "max i < m { x[i % n] * x[(i + 1) % n] * (prod j < n { x[j] + f64(i) }) * x[i % n] }",
      "max i < m { abs(sum(scan prod j < n { x[j] - x[i % n] })) }",
      "max i < m, j < n { abs(sum a < n { x[a] * f64(i * j) }) }",
      "max i < m { [i < n] * x[i % n] * min j < n { x[j] * f64(i) } }",
      "max i < m { [x[i % n] > 0.0] * (sum(scan max j < n { x[j] * f64(i) })) }",
      // Inside another index.
      "sum i < m { max j < m { 1.0 / (2.0 + abs(sum a < n { x[a] * f64(i + j) })) } }",
      "sum i < m { max j < n { x[i % n] * abs(prod a < n { x[a] + f64(i * j) }) } }",
      "sum i < n { x[i] * max j < m { abs(sum(scan prod a < n { x[a] * x[i] + f64(j) })) } }",
      "sum i < n { max j < m { abs(sum(scan max a < n { x[a] * cos(x[i] + f64(j)) })) } }",
      "sum i < n { min j < m { x[i] * max(sum(scan sum a < n { x[a] * sin(x[i] * f64(j)) }), 0.1) "
      "} }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module = testing::LowerText(start + text + " }", "f");
    testing::CheckDerivatives(module, {Ramp({3}), Tensor::I64(4)}, 1e-5, {true, false});
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, false});
    for (const int64_t m : {100, 1000}) {
      const std::vector<Tensor> args = {Ramp({3}), Tensor::I64(m)};
      CHECK(ElementsMade(gradient, args, kRows) < 60);
    }
    RunBoth(gradient, {Ramp({0}), Tensor::I64(3)}, Traps::kSame, kRows);
    RunBoth(gradient, {Ramp({3}), Tensor::I64(0)}, Traps::kSame, kRows);
    RunBoth(gradient, {Ramp({3}), Tensor::I64(-1)}, Traps::kSame, kRows);
  }
}

TEST_CASE("rows: numbers for each point of a range that no array has are no array") {
  struct {
    std::string text;
    // Its gradient needs what there is for each point in front of a total and behind it, in either order, or with
    // another index outside.
    bool keeps = false;
  } const programs[] = {
      {"sum i < m { 1.0 / (1.0 + prod j < n { x[j] + f64(i) }) }"},
      {"prod i < m, j < n { x[j] + f64(i) }", true},
      {"sum i < m { abs(sum j < n { 1.0 / (2.0 + prod a < n { x[a] + f64(i + j) }) }) }"},
      {"sum i < m { 1.0 / (1.0 + sum j < m { 1.0 / (2.0 + prod a < n { x[a] + f64(i + j) }) }) }",
       true},
      {"sum i < m + 300 { 1.0 / (1.0 + prod j < n { x[j] + f64(i) }) }"},
      {"sum i < n * m { 1.0 / (1.0 + prod j < n { x[j] + f64(i) }) }"},
      {"max i < m { prod j < n { x[j] * cos(f64(i)) } }"},
      {"sum i < m { abs(sum j < n { x[j] * cos(f64(i * j)) }) }"},
      {"sum(scan prod i < m { f64(i) - 0.5 })"},
      // Loops that start later, end earlier, or both.
      {"sum i < m { [i > 1] / (1.0 + prod j < n { x[j] + f64(i) }) * prod j < n { x[j] - 2.0 } }"},
      {"min i < m { [i > 1] * sum j < n { x[j] * cos(f64(i * j)) } }"},
      {"sum i < m { [i < m - 2] / (1.0 + abs(sum j < n { x[j] * cos(f64(i * j)) })) }"},
      {"sum(scan prod i < m { [i > 1] * (f64(i) - 0.5) })"},
      {"sum(scan sum i < m { [i > 1 and i < m - 3] * (prod j < n { x[j] + f64(i) }) })", true},
      // Loops in branches that load, too.
      {"sum a < n { sum(scan sum i < m { 1.0 / (3.0 + sin(x[a])) }) }", true},
      // By what an inner index reads: a sum over the range at each element.
      {"sum i < m { f64(i) * sum j < n { x[j] * prod a < n { f64(a - i) } } }"},
      {"sum i < m { (prod a < n { f64(a - i) }) * sum j < n { x[j] * x[j] * (1.0 + max a < n { "
       "f64(a * i) }) } }"},
      // Under a condition that no turn changes: where the outer sum's body is evaluated at all.
      {"sum i < m { f64(i) * sum j < n { 1.0 + x[j] * sum(scan prod a < m { 1.0 / f64(i + a + 1) "
       "}) } }",
       true},
  };
  constexpr int64_t kMany = 300;
  for (const auto& [text, keeps] : programs) {
    INFO(text);
    const ir::Module module =
        testing::LowerText("fn f(x: [n]f64, m: i64) -> f64 { return " + text + " }", "f");
    testing::CheckDerivatives(module, {Ramp({3}), Tensor::I64(4)}, 1e-5, {true, false});
    const ir::Module value = testing::Derived(module, Transform::kValue);
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, false});
    for (const int64_t n : {0, 1, 4}) {
      const std::vector<Tensor> args = {Ramp({n}), Tensor::I64(kMany)};
      CHECK(ElementsMade(value, args, kRows) <= 4 * (n + 1));
      if (!keeps) CHECK(ElementsMade(gradient, args, kRows) <= 10 * (n + 1));
      if (n > 0) CHECK(ElementsMade(value, args, LowerOptions{}) >= kMany);
    }
    RunBoth(value, {Ramp({3}), Tensor::I64(-1)}, Traps::kSame, kRows);
    CheckTooLong(value, {Ramp({3}), Tensor::I64(kMaxExtent + 1)});
  }
}

TEST_CASE("rows: loops that call functions for several turns at once run strip by strip",
          "[long]") {
  struct {
    std::string text;
    // The gradient needs what there is for each point in front of a total and behind it, or in either order.
    bool keeps = false;
    int64_t most = 2000;  // points
    int64_t columns = 4;
  } const programs[] = {
      {"sum i < m { tanh(prod j < n { x[j] + f64(i) }) }"},
      {"sum i < m { tanh(prod j < n { x[j] + f64(i) }) * exp(-prod j < n { x[j] - f64(i) }) }"},
      {"sum i < m { exp(tanh(sum j < n { 1.0 / (2.0 + prod a < n { x[a] + f64(i + j) }) })) }"},
      {"sum i < m { 1.0 / (1.0 + exp(sum a < m { sin(prod j < n { x[j] + f64(i * a) }) })) }", true,
       1100, 1},
      {"sum i < m + 300 { tanh(prod j < n { x[j] + f64(i) }) }"},
      {"sum i < m { [i > 2] * sin(max j < n { x[j] * f64(i) }) }"},
      {"sum i < m { tanh(f64(i)) * sum j < n { x[j] * cos(x[j] + f64(i)) } }"},
      {"sum i < m { [i < m - 2] * tanh(max j < n { x[j] * f64(i) }) }"},
      {"sum i < m { [i > 3] * tanh([i > 2] * prod j < n { x[j] * f64(i) }) }"},
      {"max i < m { cos(prod j < n { x[j] + f64(i) }) }"},
      // Under a condition that no turn changes.
      {"sum a < n { x[a] * sum i < m { tanh(prod j < n { x[j] + f64(i + a) }) } }", true},
      {"sum(scan sum i < m { tanh(prod j < n { x[j] + f64(i) }) })", true},
  };
  for (const auto& [text, keeps, most, columns] : programs) {
    INFO(text);
    const ir::Module module =
        testing::LowerText("fn f(x: [n]f64, m: i64) -> f64 { return " + text + " }", "f");
    testing::CheckDerivatives(module, {Ramp({3}), Tensor::I64(4)}, 1e-5, {true, false});
    const ir::Module value = testing::Derived(module, Transform::kValue);
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, false});
    for (const int64_t m :
         {int64_t{0}, int64_t{1}, int64_t{255}, kStripTurns, int64_t{257}, most}) {
      INFO(m);
      const std::vector<Tensor> args = {Ramp({columns}), Tensor::I64(m)};
      CHECK(ElementsMade(value, args, kRows) <= 4 * (kStripTurns + 5));
      if (!keeps) CHECK(ElementsMade(gradient, args, kRows) <= 8 * (kStripTurns + 5));
      CHECK(ElementsMade(value, args, LowerOptions{}) >= m);
    }
    RunBoth(value, {Ramp({0}), Tensor::I64(300)}, Traps::kSame, kRows);
    RunBoth(value, {Ramp({3}), Tensor::I64(-1)}, Traps::kSame, kRows);
    CheckTooLong(value, {Ramp({3}), Tensor::I64(kMaxExtent + 1)});
  }
}

TEST_CASE("rows: loops that start or end at an outer turn run strip by strip", "[long]") {
  const std::string programs[] = {
      "sum i < m { sum c < i { tanh(prod j < n { x[j] + f64(c) }) } }",
      "sum i < m, j < m { [i < j] * tanh(prod k < n { x[k] + f64(i * j) }) }",
      "sum i < m { sum c in i + 2..m { tanh(prod j < n { x[j] - f64(c) }) } }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module =
        testing::LowerText("fn f(x: [n]f64, m: i64) -> f64 { return " + text + " }", "f");
    testing::CheckDerivatives(module, {Ramp({3}), Tensor::I64(5)}, 1e-5, {true, false});
    constexpr int64_t kMany = 600;
    const std::vector<Tensor> args = {Ramp({1}), Tensor::I64(kMany)};
    const ir::Module value = testing::Derived(module, Transform::kValue);
    CHECK(ElementsMade(value, args, kRows) <= kStripTurns + 5);
    CHECK(ElementsMade(value, args, LowerOptions{}) >= kMany);
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, false});
    CHECK(ElementsMade(gradient, args, kRows) <= 2 * kStripTurns + 20);
    for (const int64_t m : {-1, 0, 1, 2, 258})
      RunBoth(gradient, {Ramp({2}), Tensor::I64(m)}, Traps::kSame, kRows);
  }
}

// What is checked in between is read at the place of the first total.
TEST_CASE("rows: checks that need an earlier total keep no others apart") {
  for (const std::string text : {
           "max i < m { sin(x[i % n]) * min j < i + 1 { sum a < n { x[a] * f64(j + 1) } } }",
           "max i < m { sin(x[i % n]) * max j in i..m { sum a < n { x[a] * x[i % n] } } }",
           "sum i < m { [f64(i) > 0.2] * min j < m { sin(min a < n { x[j % n] * f64(j + a) }) } }",
       }) {
    INFO(text);
    const ir::Module module =
        testing::LowerText("fn f(x: [n]f64, m: i64) -> f64 { return " + text + " }", "f");
    testing::CheckDerivatives(module, {Ramp({3}), Tensor::I64(4)}, 1e-5, {true, false});
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {true, false});
    constexpr int64_t kMany = 300;
    const std::vector<Tensor> args = {Ramp({1}), Tensor::I64(kMany)};
    CHECK(ElementsMade(gradient, args, kRows) <= 5 * kStripTurns + 50);
    CHECK(ElementsMade(gradient, {Ramp({1}), Tensor::I64(2 * kMany)}, kRows) <=
          ElementsMade(gradient, args, kRows));
    for (const int64_t n : {0, 2}) {
      for (const int64_t m : {-1, 0, 1, 5})
        RunBoth(gradient, {Ramp({n}), Tensor::I64(m)}, Traps::kAny, kRows);
    }
  }
}

// Functions that have loops of their own are called; where i is q they trap.
TEST_CASE("rows: loops that call functions become one") {
  const std::string start =
      "fn g(a: f64, i: i64) -> f64 { var r = a; while r > 1.0 { r = r / 2.0 } return r + f64(7 / "
      "i) }\n"
      "fn f(x: [n]f64, m: i64, q: i64) -> f64 { return ";
  for (const std::string& text : {
           "sum i < m { g(x[i % n], i - q) / (2.0 + prod j < n { g(x[j] + f64(i), i - q) }) }",
           "max i < m { g(prod j < n { 1.0 + 0.1 * cos(x[j] + f64(i)) }, i - q) }",
           "sum i < n { g(x[i], i - q) * max j < m { g(sum k < n { x[k] * x[i] * f64(j) }, j - q) "
           "} }",
       }) {
    INFO(text);
    const ir::Module ssa = testing::LowerText(start + text + " }", "f");
    testing::CheckDerivatives(ssa, {Ramp({3}), Tensor::I64(4), Tensor::I64(-1)}, 1e-5,
                              {true, false});
    for (const auto t : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module module = testing::Derived(ssa, t, {true, false});
      for (const int64_t n : {0, 1, 4}) {
        const std::vector<Tensor> args = {Ramp({n}), Tensor::I64(1000), Tensor::I64(-1)};
        CHECK(ElementsMade(module, args, kRows) <= 20 * (n + 1));
        for (const int64_t m : {-1, 0, 1, 5}) {
          for (const int64_t q : {0, 2})
            RunBoth(module, {Ramp({n}), Tensor::I64(m), Tensor::I64(q)}, Traps::kAny, kRows);
        }
      }
    }
  }
}

// Checks in a loop came behind one in front of another loop that stood between them.
TEST_CASE("rows: what a loop reads has been checked, though another may trap") {
  const std::string start = "fn f(x: [n]f64, k: [n]i64, m: i64) -> f64 { return sum i < m { ";
  const std::string programs[] = {
      start + "(prod j < n { x[k[j]] + f64(i) }) * x[i] } }",
      start + "(1.0 + prod j < n { x[k[j]] + f64(i) }) * x[i + 1] } }",
      start + "(prod j < n { x[k[j]] + f64(i) }) * x[n - i - 1] } }",
      start + "(prod j < n { x[k[j]] + f64(i) }) * x[i % n] } }",
      start + "(prod j < n { x[k[j]] + f64(i / m) }) * x[i / (n - 1)] } }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module = testing::LowerText(text, "f");
    for (const auto t : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module derived = testing::Derived(module, t, {true, true, false});
      for (const int64_t n : {0, 1, 3}) {
        const std::vector<int64_t> good(static_cast<size_t>(n), 0), bad(static_cast<size_t>(n), n);
        for (const int64_t m : {0, 1, 3, 20}) {
          RunBoth(derived, {Ramp({n}), Ints(good), Tensor::I64(m)}, Traps::kAny, kRows);
          RunBoth(derived, {Ramp({n}), Ints(bad), Tensor::I64(m)}, Traps::kAny, kRows);
        }
      }
    }
  }
}

TEST_CASE("rows: every axis that is no more has the limit that it had") {
  const std::string start =
      "fn f(x: [n]f64, m: i64, p: i64) -> f64 { return sum i < m { sum c < p { ";
  for (const std::string& text : {start + "tanh(prod j < n { x[j] + f64(i + c) }) } } }",
                                  start + "1.0 / (2.0 + prod j < n { x[j] + f64(i + c) }) } } }"}) {
    INFO(text);
    const ir::Module module = testing::LowerText(text, "f");
    for (const int64_t p : {kMaxExtent + 1, INT64_MAX - 255, INT64_MAX})
      CheckTooLong(module, {Ramp({2}), Tensor::I64(1), Tensor::I64(p)});
    RunBoth(module, {Ramp({2}), Tensor::I64(0), Tensor::I64(kMaxExtent)}, Traps::kSame, kRows);
  }
}

// Arrays have eight axes in memory; an array of more was made, and written behind its end.
TEST_CASE("rows: a value for each point of more than eight indices is refused") {
  for (const int indices : {8, 9, 12}) {
    std::string binders, sum;
    for (int k = 0; k < indices; ++k) {
      const std::string i = "i" + std::to_string(k);
      binders += (k > 0 ? ", " : "") + i + " < n";
      sum += (k > 0 ? " + " : "") + ("x[" + i + "]");
    }
    const ir::Module module =
        testing::LowerText("fn f(x: [n]f64) -> f64 { return max " + binders +
                               " { tanh(sum z < n { x[z] * sin(" + sum + ") }) } }",
                           "f");
    // Unoptimised, nothing of it becomes a row.
    const auto loops =
        LowerToLoops(testing::Derived(module, Transform::kValueAndGrad, {true}, false));
    REQUIRE(loops.ok());
    CHECK(CheckLimits(*loops).reason() == (indices > 8 ? "TOO_MANY_AXES" : ""));
  }
}

// Each term is summed along its diagonal.
TEST_CASE("rows: a matrix that is a sum of diagonals is not made for those who sum over it") {
  const std::string matrices[] = {
      "[i == j] * a[i] + [i == j + 1] * b[i]",
      "1.0 * [i == j] - 1.0 * [i == j + 1]",
      "-[i == j] * a[i] * b[j] - [i == j + 1] / b[i] + [j == i + 2] * sin(a[j])",
      "a[i] * ([i == j] * b[j] + 2.0 * [j == i + 1] + [i == 0] * b[j])",
      "[i == j] * a[i] + [i == j + 1] * b[i] + [i == j + 2] * a[j] + [j == i + 1] * b[j] + 1.0 * "
      "[j == i + 2]",
  };
  const std::string uses[] = {"sum i < n { (m @ (m @ x))[i] ** 2 }",
                              "dot(x, m @ x) + sum j < n { (sum i < n { m[i, j] * x[i] }) ** 3 }"};
  for (const std::string& matrix : matrices) {
    for (const std::string& use : uses) {
      const ir::Module module = testing::LowerText(
          "fn f(a: [n]f64, b: [n]f64, x: [n]f64) -> f64 { let m = gen i < n, j "
          "< n { " +
              matrix + " }; return " + use + " }",
          "f");
      INFO(matrix << "; " << use);
      const auto args = [](int64_t n) {
        return std::vector<Tensor>{Ramp({n}), Ramp({n}), Ramp({n})};
      };
      testing::CheckDerivatives(module, args(5), 1e-5, {true, true, true});
      for (const auto t : {Transform::kValue, Transform::kValueAndGrad}) {
        const ir::Module derived = testing::Derived(module, t, {true, true, true});
        CHECK(ElementsMade(derived, args(100), LowerOptions{}) < 40 * 100);
        RunBoth(derived, args(0));
        RunBoth(derived, args(1));
      }
    }
  }
}

TEST_CASE(
    "rows: matrices of dot products and distances that are read by columns are made by columns") {
  const std::string programs[] = {
      "let k = x @ z.T; return sum j < m { max i < n { k[i, j] } }",
      "let k = gen i < n, j < m { exp(-sum a < d { (x[i, a] - z[j, a]) ** 2 }) }; return sum j < m "
      "{ "
      "log(1.0 + sum i < n { k[i, j] }) }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module module =
        testing::LowerText("fn f(x: [n, d]f64, z: [m, d]f64) -> f64 { " + text + " }", "f");
    testing::CheckDerivatives(module, {Ramp({4, 2}), Ramp({3, 2})}, 1e-5, {true, true});
    constexpr int64_t n = 50;
    for (const auto t : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module derived = testing::Derived(module, t, {true, true});
      CHECK(ElementsMade(derived, {Ramp({n, 2}), Ramp({n, 2})}, kRows) < 20 * n);
      RunBoth(derived, {Ramp({0, 2}), Ramp({3, 2})});
      RunBoth(derived, {Ramp({2, 0}), Ramp({3, 0})});
    }
  }
}

// As `o[i, y[i]]` has.
TEST_CASE("rows: losses of the element of a row at a place that data say hold rows") {
  const std::string losses[] = {"log_softmax(o[i])[y[i]]", "let p = softmax(o[i])\n log(p[y[i]])",
                                "(o[i] * logsumexp(o[i]))[y[i]]", "log_softmax(x[i] @ w)[y[i]]",
                                "let z = tanh.(x[i] @ w)\n z[y[i]] - logsumexp(z)"};
  for (const std::string& loss : losses) {
    INFO(loss);
    const ir::Module module = testing::LowerText(
        "fn f(x: [n, d]f64, w: [d, k]f64, y: [n]i64) -> f64 { let o = x @ w\n return sum i < n { " +
            loss + " } }",
        "f");
    const auto args = [](int64_t n, int64_t k) {
      std::vector<int64_t> at;
      for (int64_t i = 0; i < n; ++i) at.push_back(i * 7 % k);
      return std::vector<Tensor>{Ramp({n, 2}), Ramp({2, k}),
                                 Tensor::Of<int64_t>(DType::kI64, {n}, at)};
    };
    const std::vector<bool> wrt = {false, true, false};
    testing::CheckDerivatives(module, args(4, 3), 1e-5, wrt);
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
    for (const int64_t n : {100, 200}) {
      CHECK(ElementsMade(gradient, args(n, 50), kRows) < 50 * 30 + 20 * n);
      CHECK(ElementsMade(gradient, args(n, 50), LowerOptions{}) >= 2 * 50 * n);
    }
    RunBoth(gradient,
            {Ramp({3, 2}), Ramp({2, 2}), Tensor::Of<int64_t>(DType::kI64, {3}, {0, 2, 1})},
            Traps::kSame, kRows);
    RunBoth(gradient, args(0, 2), Traps::kSame, kRows);
  }
}

// What is stored of a point, and read by products of its own.
TEST_CASE("rows: attention and a classifier in the body of a sum hold rows") {
  const ir::Module module = testing::LowerText(
      "fn f(q: [n, d]f64, k: [m, d]f64, v: [m, d]f64, u: [d, c]f64, y: [n]i64) -> f64 { return sum "
      "i < n { let p = softmax(k @ q[i])\n let o = sum j < m { p[j] * v[j] }\n -log_softmax(o @ "
      "u)[y[i]] } }",
      "f");
  const auto args = [](int64_t n, int64_t m) {
    const std::vector<int64_t> labels(static_cast<size_t>(n), 1);
    return std::vector<Tensor>{Ramp({n, 2}), Ramp({m, 2}), Ramp({m, 2}), Ramp({2, 3}),
                               Tensor::Of<int64_t>(DType::kI64, {n}, labels)};
  };
  const std::vector<bool> wrt = {true, true, true, true, false};
  testing::CheckDerivatives(module, args(3, 4), 1e-5, wrt);
  const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
  CHECK(ElementsMade(gradient, args(100, 100), kRows) < 40 * 100);
  CHECK(ElementsMade(gradient, args(100, 100), LowerOptions{}) >= 3 * 100 * 100);
  for (const int64_t n : {0, 1, 17}) RunBoth(gradient, args(n, 3), Traps::kSame, kRows);
  RunBoth(gradient, args(2, 0), Traps::kSame, kRows);
}

// In front of a total and behind it: its derivative needs the root alone.
TEST_CASE(
    "rows: of a root that is stored, or a function under a condition, its operand is not kept") {
  const auto args = [](int64_t n) {
    return std::vector<Tensor>{Ramp({n, 2}), Ramp({n, 2}), Ramp({n})};
  };
  for (const std::string element : {"sqrt(0.1 + ", "[i != j] * sqrt(0.1 + ", "[i != j] * exp(-"}) {
    INFO(element);
    const ir::Module module = testing::LowerText(
        "fn f(x: [n, d]f64, z: [m, d]f64, u: [m]f64) -> f64 { let e = gen i < n, j < m { " +
            element +
            "sum a < d { (x[i, a] - z[j, a]) ** 2 }) }\n let s = sum(e)\n return sum i < n, j < m "
            "{ e[i, j] * e[i, j] * e[i, j] * s * u[j] } }",
        "f");
    const std::vector<bool> wrt = {true, false, false};
    testing::CheckDerivatives(module, args(4), 1e-5, wrt);
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
    constexpr int64_t n = 100;
    CHECK(ElementsMade(gradient, args(n), kRows) < 2 * n * n + 20 * n);  // e, and its cotangent
    for (const int64_t few : {0, 1, 5}) RunBoth(gradient, args(few), Traps::kSame, kRows);
  }
}

}  // namespace
}  // namespace pullback::loops
