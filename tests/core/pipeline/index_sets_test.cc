// Quantifiers over indices and index sets that data says: values, derivatives, and what they cost as they grow, by
// counting.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/ir/printer.h"
#include "tests/core/pipeline/growth_check.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// Conditions of sizes by quotients say which terms are absent, behind a name as well.
TEST_CASE("index sets: a window around each point reads nothing outside") {
  const std::string head = "fn f(x: [n]f64, w: [m]f64) -> f64 { let r = m / 2\n ";
  const std::string term = "[i + j - r >= 0 and i + j - r < n] * w[j]";
  const std::string named = head + "let d = gen i < n, j < m { " + term + " }\n ";
  const auto loss = [](const std::string& d) {
    return std::vector<std::string>{
        "return sum i < n, j < m { " + d + " * x[i + j - r] } }",
        "return sum i < n { sin(sum j < m { " + d + " * x[i + j - r] }) } }"};
  };
  const std::vector<Tensor> args = {Vec({1, 2, 3, 4}), Vec({0.5, -1, 2})};
  for (size_t k = 0; k < 2; ++k) {
    const ir::Module written = LowerText(head + loss(term)[k], "f");
    const ir::Module behind = LowerText(named + loss("d[i, j]")[k], "f");
    CheckDerivatives(written, args);
    const auto expected = RunOk(Derived(written, Transform::kValueAndGrad), args);
    const auto got = RunOk(Derived(behind, Transform::kValueAndGrad), args);
    REQUIRE(got.size() == 3);
    CHECK(Scalar(got[0]) == Approx(Scalar(expected[0])).epsilon(1e-12));
    for (size_t g : {1, 2}) {
      for (int64_t i = 0; i < got[g].ElementCount(); ++i)
        CHECK(got[g].At<double>(i) == Approx(expected[g].At<double>(i)).epsilon(1e-12));
    }
  }
}

// The equation in what is left of k has an index less; the stride beside it is a condition.
TEST_CASE("index sets: what a quantifier leaves behind narrows loops, strides beside it too") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n]f64) -> f64 { return sum i < n, j < n {\n"
      "  [exists k < n: 2*k == i and 2*k == j] * x[i] * x[j] } }",
      "f");
  const auto args = [](size_t n) {
    std::vector<double> x;
    for (size_t i = 0; i < n; ++i) x.push_back(0.1 * static_cast<double>(i % 7) - 0.3);
    return std::vector<Tensor>{Vec(x)};
  };
  CheckLinear(ssa, args(60), args(120));
  CheckDerivatives(ssa, args(5));
}

TEST_CASE("index sets: a quantifier beside conditions of data is a predicate") {
  const char* const conditions[] = {
      "x[i] > 0.0 and (exists j < n: 2*j == i)",
      "(exists j < n: 2*j == i) and x[i] > 0.0",
      "x[i] > 0.0 or (exists j < n: 2*j == i)",
      "(exists j < n: 2*j == i) or x[i] > 0.0",
      "x[i] > 0.0 and not (exists j < n: 2*j == i)",
      "i >= 2 and x[i - 2] > 0.0 and (exists j < n: 2*j == i)",
      "x[i] > -1.0 and i < dim(y, 0) and y[i] > -0.3 and (exists j < n: j + 3 == i)",
      "x[i] > 0.0 and (exists j < n, k < n: j + 2*k == i and j > k)",
      "x[i] > 0.0 and (exists j < n: 2*j == i) and not (exists k < n: 3*k == i)",
      "or j < n { 2*j == i }",
      "and j < n { 2*j != i }",
      "and j < n { not (2*j == i) }",
      "or j < n { j != i }",
      "and j < n { j <= i }",
      "x[i] > 0.0 and (and j < n { 2*j != i })",
      "x[i] > 0.0 or (and j < n { 2*j != i })",
      "and j < n { x[i] > 0.0 and 2*j != i }",
      "or j < n { x[i] > 0.0 and 2*j == i }",
      "x[i] > 0.0 and (exists j < n: j == -1 - i)",
      "x[i] > 0.0 and (exists j < n - 2: j == i - 1)",
  };
  for (const char* condition : conditions) {
    INFO(condition);
    const ir::Module ssa =
        LowerText(std::string("fn f(x: [n]f64, y: [m]f64) -> f64 { return sum i < n { [") +
                      condition + "] * x[i]**2 } }",
                  "f");
    const auto args = [](int64_t n) {
      return std::vector<Tensor>{Vec(Numbers(n)), Vec(Numbers(n / 2))};
    };
    for (const int64_t n : {0, 1, 2, 3, 7}) CheckValues(ssa, args(n));
    CheckLinear(ssa, args(100), args(200));
  }
}

TEST_CASE("index sets: a disjunction or a condition of data inside a quantifier is solved") {
  const char* const conditions[] = {
      "exists j < n: 2*j == i and y[i] > 0.0",
      "exists j < n: y[i] > 0.0 and 2*j == i",
      "exists j < n: 2*j == i or 3*j == i",
      "exists j < n: 2*j == i or y[i] > 0.0",
      "exists j < n: (2*j == i or 3*j == i) and y[i] > 0.0",
      "exists j < n: 2*j == i and (y[i] > 0.0 or 3*j == i + 2)",
      "exists j < n: 2*j == i and not (y[i] > 0.0)",
      "exists j < n: 2*j == i and y[i] > -0.3 and x[i] > 0.0 and j > 1",
      "exists j < n: 2*j == i and i < dim(z, 0) and z[i] > 0.0",
      "exists j < n: 2*j == i and (if y[i] > 0.0 { x[i] } else { y[i] * y[i] }) > 0.3",
      "exists j < n, l < n: j + l == i and (j > l or y[i] > 0.0)",
      "exists j < n: 2*j == i and (exists l < n: 3*l == i and y[i] > 0.0)",
      "not (exists j < n: 2*j == i and y[i] > 0.0)",
      "and j < n { 2*j != i or j == k }",
      "and j < n { 2*j != i or y[i] > 0.0 }",
      "and j < n { y[i] > 0.0 or 2*j != i }",
      "and j < n { j < i or j > i + 2 }",
      "or j < n { 2*j == i and y[i] > 0.0 }",
      "exists j < n: j == k and y[i] > 0.0",
      "exists j < n: 2*j == i and 3*j == k",
      "exists j < n: j != k and (2*j == i or y[i] > 0.0)",
      "exists j < n: 2*j == k and k < n and x[k] > 0.0",
  };
  for (const char* condition : conditions) {
    INFO(condition);
    const ir::Module ssa =
        LowerText(std::string("fn f(x: [n]f64, y: [n]f64, z: [m]f64, k: i64) -> f64 {\n") +
                      "  return sum i < n { [" + condition + "] * x[i]**2 } }",
                  "f");
    const auto args = [](int64_t n, int64_t k) {
      std::vector<double> y = Numbers(n + 1);
      y.erase(y.begin());
      return std::vector<Tensor>{Vec(Numbers(n)), Vec(y), Vec(Numbers(n / 2)), Tensor::I64(k)};
    };
    for (const int64_t n : {0, 1, 2, 3, 7}) {
      for (const int64_t k : {-1, 0, 3, 4}) CheckValues(ssa, args(n, k));
    }
    CheckLinear(ssa, args(100, 6), args(200, 6));
  }
}

TEST_CASE("index sets: residues, sums of multiples and orders with any integer are solved") {
  const char* const conditions[] = {
      "exists j < n: 3*j <= i and i <= 3*j + 1",
      "exists j < n: 7*j <= 3*i + 2 and 3*i <= 7*j + 1",
      "not (exists j < n: 64*j + 3 <= i and i <= 64*j + 40)",
      "exists j < n, l < n: 2*j + 3*l == i",
      "exists j < n, l < n: 6*j + 10*l == i + 2",
      "exists j < n: j % 3 == 1 and 2*j == i",
      "exists j < n: j / 3 == i",
      "exists j < n: (i - j) % 2 == 0 and 3*j == i",
      "exists j < n: 2*j == i and (exists l < n: 3*l == j)",
      "exists j < n: 2*j == i and not (exists l < n: 3*l == j)",
      "exists j < n: j == 1 and (exists l < n: 2*l <= j and j + i <= 3*l + 1)",
      "exists j < n: 2*j <= i + 4 and (exists l < n: 5*l <= 3*j and 3*j <= 5*l + 2) and i <= 2*j",
      "exists j < n: 2*j == i and j < k",
      "exists j < n: 2*j == i and (j < k or k > 3)",
      "exists j < n: 3*j == i and k <= 2*j + 1 and j <= k + 1",
      "and j < n { 2*j != i or j < k }",
  };
  for (const char* condition : conditions) {
    INFO(condition);
    const ir::Module ssa = LowerText(std::string("fn f(x: [n]f64, k: i64) -> f64 {\n") +
                                         "  return sum i < n { [" + condition + "] * x[i]**2 } }",
                                     "f");
    const auto args = [](int64_t n, int64_t k) {
      return std::vector<Tensor>{Vec(Numbers(n)), Tensor::I64(k)};
    };
    for (const int64_t n : {0, 1, 2, 3, 7, 13}) {
      for (const int64_t k : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{3}, INT64_MAX})
        CheckValues(ssa, args(n, k));
    }
    CheckLinear(ssa, args(100, 6), args(200, 6));
  }
}

TEST_CASE("index sets: a quantifier without indices, with data, asks once") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n]f64, y: [m]f64, k: i64) -> f64 {\n"
      "  return if exists j < n: 2*j == k and y[k] > 0.0 { x[0]**2 } else { y[0] } }",
      "f");
  const ir::Module final = Derived(ssa, Transform::kValue);
  const auto args = [](int64_t n, int64_t k) {
    return std::vector<Tensor>{Vec(Numbers(n)), Vec({-1, 2, 1, 3, -1}), Tensor::I64(k)};
  };
  for (const int64_t k :
       {INT64_MIN, int64_t{-2}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{4}, INT64_MAX})
    CheckValues(ssa, args(7, k));
  CHECK(Steps(final, args(100, 2)) == Steps(final, args(200, 2)));
}

TEST_CASE("index sets: of a quantifier's indices those stay that data are read by") {
  const char* const conditions[] = {
      "exists i < n, j < n: x[i] > 0.7 and 2*j == i + 4",
      "exists j < n, i < n: 2*j == i and 3 * j <= i + 4 and x[i] > 0.8",
      "and i < n, j < n { x[i] < 0.9 or 3*j + 1 != i }",
      "exists i < n, j < n, l < n: 2*j + 3*l == i + 1 and x[i] > 0.9",
  };
  for (const char* condition : conditions) {
    INFO(condition);
    const ir::Module ssa =
        LowerText(std::string("fn f(x: [n]f64, y: f64) -> f64 {\n") + "  return if " + condition +
                      " { x[0]**2 * y } else { y } }",
                  "f");
    const auto args = [](int64_t n) {
      return std::vector<Tensor>{Vec(Numbers(n)), Tensor::F64(1.5)};
    };
    for (const int64_t n : {1, 2, 3, 7, 13}) CheckValues(ssa, args(n));
    CheckLinear(ssa, args(100), args(200));
  }
}

// Behind a condition that is false nothing is read; where there is no j at all, the condition is not asked.
TEST_CASE("index sets: what a quantifier's condition would trap at stays unread") {
  struct Program {
    const char* condition;
    std::vector<int64_t> reads, traps;  // keys with which it does not trap, and does, by a 3
  };
  const Program programs[] = {
      {"k[i] >= 0 and y[k[i]] > 0.0 and (exists j < n: 2*j == i)",
       {2, -7, 0, 1, -1},
       {2, 3, 0, 1, -1}},
      {"exists j < n: 2*j == i and y[k[i]] > 0.0", {2, -7, 0, 9, 1}, {2, -7, 0, 9, 3}},
      {"exists j < n: 2*j == i and k[i] >= 0 and y[k[i]] > 0.0",
       {-2, -7, 0, 9, 1},
       {2, -7, 3, 9, -3}},
      {"and j < n { 2*j != i or y[k[i]] > 0.0 }", {2, -7, 0, 9, 1}, {2, -7, 0, 9, 3}},
      {"exists j < n: (2*j == i or 3*j == i) and y[k[i]] > 0.0",
       {2, -7, 0, 1, 1},
       {2, -7, 0, 3, 1}},
      {"exists j < n: j == i + 1 and y[k[i]] > 0.0", {2, 1, 0, 0, 3}, {2, 1, 0, 3, 3}},
      {"exists j < n - 5: j >= 0 and y[k[i]] > 0.0", {2, -7, 3, 9, 1}, {}},
      {"exists j < n: 2*j == i and (if y[i % 3] > 0.0 { y[k[i]] } else { 2.0 }) > 0.0",
       {2, -7, 0, 9, 1},
       {3, -7, 0, 9, 1}},
      {"exists j < n: 2*j == i and (y[i % 3] < 0.0 or y[k[i]] > 0.0)",
       {2, -7, 0, 9, -1},
       {2, -7, 3, 9, -1}},
  };
  for (const Program& p : programs) {
    INFO(p.condition);
    const ir::Module ssa =
        LowerText(std::string("fn f(x: [n]f64, y: [m]f64, k: [n]i64) -> f64 {\n") +
                      "  return sum i < n { [" + p.condition + "] * x[i] } }",
                  "f");
    const auto run = [&](const std::vector<int64_t>& k, bool optimise) {
      const auto r = eval::Run(Derived(ssa, Transform::kValue, {}, optimise),
                               {Vec(Numbers(5)), Vec({1, -1, 2}), Ints(k)});
      REQUIRE(r.ok());
      return *r;
    };
    for (const bool optimise : {false, true}) {
      CHECK_FALSE(run(p.reads, optimise).trap);
      if (p.traps.empty()) continue;
      const auto traps = run(p.traps, optimise);
      REQUIRE(traps.trap);
      CHECK(traps.trap->kind == ir::TrapKind::kIndex);
      CHECK(traps.trap->a == 3);
    }
  }
}

TEST_CASE("index sets: a quantifier that decides a branch is its predicate, and no number") {
  for (const char* condition : {"exists j < n: j == k", "or j < n { j == k }"}) {
    const ir::Module ssa = LowerText(std::string("fn f(x: [n]f64, k: i64) -> f64 { return if ") +
                                         condition + " { x[0]**2 } else { x[1] } }",
                                     "f");
    const std::string text = ir::Print(Derived(ssa, Transform::kValue));
    INFO(text);
    CHECK(CountText(text, "select") == 0);
    CHECK(CountText(text, "each") == 0);
    for (const int64_t k : {-1, 0, 1, 2}) CheckValues(ssa, {Vec({2, 3}), Tensor::I64(k)});
  }
}

// n elements in m sets, some of them in none and some sets of none.
std::vector<Tensor> Sets(int64_t n, int64_t m) {
  std::vector<int64_t> keys;
  for (int64_t i = 0; i < n; ++i) keys.push_back((i * i + 3 * i) % (m + 3) - 1);
  return {Vec(Numbers(n)), Ints(keys), Tensor::I64(m), Vec(Numbers(m))};
}

TEST_CASE("index sets: one that is equal to data is looked up wherever it stands") {
  const char* const bodies[] = {
      "sum j < m { (sum i < n { [k[i] == j] * x[i] })**2 }",
      "sum j < m { (sum i < n { [j == k[i]] * x[i]**2 * w[j] })**2 }",
      "sum j < m { exp(sum i < n { [k[i] == j and x[i] > 0.0] * x[i] }) * w[j] }",
      "sum j < m { sin(sum i < n { [x[i] > 0.0 and k[i] == j] * x[i] }) }",
      "sum j < m { (sum i < n { if k[i] == j { x[i] } else { 0.0 } })**2 }",
      "sum j < m { (sum i < n { if x[i] > 0.0 { [j == k[i]] * x[i] * w[j] } else { 0.0 } })**2 }",
      "sum j < m { (sum i < n { [k[i] + 2 == j + 1 and j > 1] * x[i] })**2 }",
      "sum j < m { (sum i < n { [2 * k[i] - 1 == j and j <= i] * x[i] })**2 }",
      "sum j < m { (sum i < n { [k[i] == j] * f64(j + i) * x[i] })**2 }",
      "sum j < m { w[j] * prod l < 2 { sum i < n { [k[i] == j] * x[i] } } }",
      "sum i < n, j < m { [k[i] == j] * w[j]**2 * x[i] }",
      "max j < m { sum i < n { [k[i] == j] * x[i] } }",
      "sum j < m { log(1.5 + (sum i < n { [k[i] == j] * x[i] })**2) }",
      "sum j < m { w[j] / (1.0 + sum i < n { [k[i] == j] * x[i] * x[i] }) }",
  };
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module ssa = LowerText(
        std::string("fn f(x: [n]f64, k: [n]i64, m: i64, w: [q]f64) -> f64 { return ") + body + " }",
        "f");
    for (const int64_t n : {0, 1, 7}) {
      for (const int64_t m : {0, 1, 5}) {
        if (m == 0 && std::string(body).starts_with("max")) continue;
        CheckValues(ssa, Sets(n, m));
      }
    }
    CheckLinear(ssa, Sets(100, 100), Sets(200, 200));
  }
}

TEST_CASE("index sets: max, min and prod of one that is equal to data") {
  const char* const bodies[] = {
      "max(max i < n { if k[i] == j { x[i]**2 } else { -1.0 / 0.0 } }, -9.0)",
      "min(min i < n { if k[i] == j { x[i] * w[j] } else { 1.0 / 0.0 } }, 9.0)",
      "max(max i < n { if k[i] == j and x[i] > 0.1 { x[i] } else { -1.0 / 0.0 } }, -9.0)",
      "w[j] * prod i < n { if k[i] == j { x[i] } else { 1.0 } }",
      "prod i < n { if j == k[i] { w[j] * x[i]**2 } else { 1.0 } }",
      "sin(prod i < n { if k[i] == j and x[i] > 0.1 { x[i] } else { 1.0 } })",
      "w[j] * prod i < n { if k[i] == j and w[j] > 0.1 { x[n - 1 - i] } else { 1.0 } }",
  };
  for (const char* body : bodies) {
    INFO(body);
    const ir::Module ssa =
        LowerText(std::string("fn f(x: [n]f64, k: [n]i64, m: i64, w: [q]f64) -> f64 { return ") +
                      "sum j < m { " + body + " } }",
                  "f");
    for (const int64_t n : {0, 1, 7, 20}) {
      for (const int64_t m : {0, 1, 5}) CheckValues(ssa, Sets(n, m));
    }
    CheckLinear(ssa, Sets(100, 100), Sets(200, 200));
  }
}

// Factors that are 0, infinite and no numbers: as without optimising, bit for bit.
TEST_CASE("index sets: the gradient of products of a set") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n]f64, k: [n]i64, m: i64) -> [m]f64 {\n"
      "  return gen j < m { prod i < n { if k[i] == j { x[i] } else { 1.0 } } } }",
      "f");
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<Tensor> args = {Vec({2, 0, 3, 5, -0.0, 0, inf, 4, inf, nan, 7, 0.5}),
                                    Ints({0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 9, -1}), Tensor::I64(6),
                                    Vec({1, 2, 4, 8, 16, 32})};
  const auto run = [&](bool optimise) {
    return Doubles(RunOk(Derived(ssa, Transform::kVjp, {true}, optimise), args)[1]);
  };
  const std::vector<double> plain = run(false), fast = run(true);
  REQUIRE(fast.size() == plain.size());
  for (size_t k = 0; k < plain.size(); ++k) {
    CAPTURE(k, plain[k], fast[k]);
    CHECK((fast[k] == plain[k] || (std::isnan(fast[k]) && std::isnan(plain[k]))));
  }
  CHECK((fast[0] == 0 && fast[1] == 6 && fast[3] == 0 && fast[6] == 16 && fast[7] == inf));
  CHECK((fast[10] == 0 && fast[11] == 0));
}

// The first of equals, the first NaN, and what is infinite: as without optimising, bit for bit.
// A row that is looked up under a condition is 0 where that is false, whatever the data say.
TEST_CASE("index sets: rows that data pick, under a condition or with another set") {
  const std::string start = "fn f(k: [n]i64, x: [n]f64, y: [m]f64) -> f64 { let a = ";
  const std::string programs[] = {
      "gen i < n, j < m { sum l < n { x[l] * y[j] } }; return sum i < n { let r = [x[i] > 0.0] * "
      "k[i]; sum j < m { "
      "[j == r] * a[i, j] } } }",
      "gen i < n, j < m { prod l < n { x[l] * y[j] + x[i] } }; let b = gen i < n { argmax j < m { "
      "a[i, j] } }; return "
      "sum i < n { let r = [i > 1] * b[i]; sum j < m { [j == r] * a[i, j] } } }",
      "gen j < m, i < n { sum l in i..n { [k[i] == l] * x[i] } }; return sum i < n, j < m { [j == "
      "k[i]] * a[j, i] } }",
      "gen j < m { exscan prod i < n { if k[i] == j { x[i] } else { 1.0 } } }; return sum i < n { "
      "let r = [x[i] > 0.5] * "
      "k[i]; sum j < m { [j == r] * a[j, i] } } }",
      "gen i < n, j < m { sum(scan prod l < n { x[l] * y[j] + x[i] }) }; return sum i < n, j < m { "
      "[j == k[i]] * a[i, j] "
      "} }",
  };
  for (const std::string& text : programs) {
    INFO(text);
    const ir::Module ssa = LowerText(start + text, "f");
    CheckValues(ssa, {Ints({1, 2, 0, 2}), Vec({1.5, -0.7, 2.0, 0.3}), Vec({1.0, 2.0, 3.0})});
    CheckValues(ssa, {Ints({1, 7, -1, 1}), Vec({1.5, -0.7, 2.0, 0.3}), Vec({1.0, 10.0})});
  }
}

// One element of a cotangent is stored: where that is out of range it traps, though nobody reads that element.
TEST_CASE("index sets: a place that is out of range traps where its array is read") {
  const ir::Module ssa = LowerText(
      "fn f(a: [m, n]f64, x: [n]f64, r: i64) -> f64 { let g = grad(|b: [m, n]f64| sum j < n { b[r, "
      "j] })(a); return sum i "
      "< m, j < n { g[i, j] * x[j] } }",
      "f");
  const Tensor a = Tensor::Of<double>(DType::kF64, {2, 2}, {1.0, 2.0, 3.0, 4.0});
  const ir::Module value = Derived(ssa, Transform::kValue);
  CHECK(Scalar(RunOk(value, {a, Vec({1.0, 2.0}), Tensor::I64(1)})[0]) == 3.0);
  for (const int64_t r : {2, -1}) {
    const auto run = eval::Run(value, {a, Vec({1.0, 2.0}), Tensor::I64(r)});
    REQUIRE(run.ok());
    CHECK(run->trap);
  }
}

TEST_CASE("index sets: a negative size traps though one index of its range is left") {
  const std::string start = "fn f(x: [n]f64, y: [n]f64, m: i64, p: i64) -> f64 { ";
  for (const std::string& text :
       {start + "return sum i < m, j < n { [i == p] * x[j] * y[j] } }",
        start +
            "let s = gen i < m { exscan sum j < n { [i == p] * x[j] } }; return sum i < m, j < n "
            "{ s[i, j] * y[j] } }",
        start + "let c = gen i < m { sum j < n { x[j] * cos(f64(i) * y[j]) } }; return sum i < m { "
                "[i == p] * c[i] * exp(c[i]) } }"}) {
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    for (const Transform t : {Transform::kValue, Transform::kValueAndGrad}) {
      for (const auto& [m, p] : {std::pair<int64_t, int64_t>{-1, -1}, {-1, 0}, {-5, INT64_MAX}}) {
        const auto run =
            eval::Run(Derived(ssa, t, {true, true, false, false}),
                      {Vec({0.5, 1.0}), Vec({1.0, 2.0}), Tensor::I64(m), Tensor::I64(p)});
        REQUIRE(run.ok());
        REQUIRE(run->trap);
        CHECK(run->trap->kind == ir::TrapKind::kNegativeSize);
      }
    }
  }
}

TEST_CASE("index sets: which element is the greatest of a set") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n]f64, k: [n]i64, m: i64) -> [m]f64 {\n"
      "  return gen j < m { max i < n { if k[i] == j { x[i] } else { -1.0 / 0.0 } } } }",
      "f");
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<Tensor> args = {Vec({2, 2, nan, 1, nan, -inf, -inf, 0.0, -0.0, inf, inf, 3}),
                                    Ints({0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 9}), Tensor::I64(6),
                                    Vec({1, 2, 4, 8, 16, 32})};
  const auto run = [&](bool optimise) {
    return RunOk(Derived(ssa, Transform::kVjp, {true}, optimise), args);
  };
  const std::vector<Tensor> plain = run(false), fast = run(true);
  for (size_t k = 0; k < plain.size(); ++k)
    CHECK(Doubles(plain[k]).size() == Doubles(fast[k]).size());
  CHECK(plain[1].data == fast[1].data);
  CHECK(Doubles(fast[1]) == std::vector<double>{1, 0, 2, 0, 0, 0, 0, 8, 0, 16, 0, 0});
}

}  // namespace
}  // namespace pullback::testing
