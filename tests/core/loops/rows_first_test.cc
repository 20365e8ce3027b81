// Statements that run over an array's rows first, and loops that take rows in blocks.
#include "core/loops/rows_first.h"

#include <catch2/catch.hpp>

#include "core/loops/block_rows.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/loops/rows.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

struct RowsProgram {
  const char* name;
  std::string text;
  std::vector<bool> wrt;
  std::vector<Tensor> (*args)(int64_t n, int64_t d);
  // Elements of all arrays that its gradient makes are no more than so many for each of n, or for each of n * d.
  int64_t of_rows, of_own;
};

std::vector<Tensor> Three(int64_t n, int64_t d) {
  return {Ramp({n, d}), Ramp({n, d}), Ramp({n, d})};
}
std::vector<Tensor> Heads(int64_t n, int64_t d) {
  return {Ramp({2, n, d}), Ramp({2, n, d}), Ramp({2, n, d})};
}
std::vector<Tensor> Layers(int64_t n, int64_t d) { return {Ramp({n, d}), Ramp({d, n}), Ramp({n})}; }
std::vector<Tensor> Points(int64_t n, int64_t d) { return {Ramp({n, d})}; }
std::vector<Tensor> Columns(int64_t n, int64_t d) { return {Ramp({d, n})}; }

const RowsProgram kPrograms[] = {
    {"linear attention, causal, by its values",
     "fn f(q: [n, d]f64, k: [n, d]f64, v: [n, d]f64) -> f64 { return sum i < n, l < d { (sum j < i "
     "+ 1 { (sum a < d { q[i, a] * k[j, a] }) * v[j, l] }) ** 2 } }",
     {false, false, true},
     Three,
     2,
     2},
    {"linear attention by its values",
     "fn f(q: [n, d]f64, k: [n, d]f64, v: [n, d]f64) -> f64 { return sum i < n, l < d { (sum j < n "
     "{ (sum a < d { q[i, a] * k[j, a] }) * v[j, l] }) ** 2 } }",
     {false, false, true},
     Three,
     4,
     3},
    {"products of columns",
     "fn f(x: [d, n]f64) -> f64 { return sum p < n, q < n { ((sum i < d { x[i, p] * x[i, q] }) - "
     "[p == q]) ** 2 } }",
     {true},
     Columns,
     4,
     5},
    {"two heads, by the values",
     "fn f(q: [h, n, d]f64, k: [h, n, d]f64, v: [h, n, d]f64) -> f64 { return sum b < h, i < n, l "
     "< "
     "d { (sum j < n { (sum a < d { q[b, i, a] * k[b, j, a] }) * v[b, j, l] }) ** 2 } }",
     {false, false, true},
     Heads,
     4,
     5},
    {"a hidden layer by the weights in front",
     "fn f(x: [n, d]f64, w: [d, h]f64, u: [h]f64) -> f64 { return sum i < n { (sum j < h { "
     "tanh(sum a < d { x[i, a] * w[a, j] }) * u[j] }) ** 2 } }",
     {false, true, false},
     Layers,
     8,
     2},
    {"log-sum-exp of rows by the weights, whose rows may be infinite",
     "fn f(x: [n, d]f64, w: [d, h]f64, u: [h]f64) -> f64 { return sum i < n { logsumexp(x[i] @ w) "
     "} }",
     {false, true, false},
     Layers,
     12,
     4},
    {"two products with the weights",
     "fn f(x: [n, d]f64, w: [d, h]f64, u: [h]f64) -> f64 { let r = x - (x @ w) @ w.T\n return "
     "sum(r "
     "* r) }",
     {false, true, false},
     Layers,
     8,
     5},
    {"two layers behind one, by the weights in front",
     "fn f(x: [n, d]f64, w: [d, h]f64, u: [h]f64) -> f64 { let z = tanh.(x @ w)\n return (sum i < "
     "n "
     "{ sin(sum j < h { z[i, j] * u[j] }) }) + sum i < n { cos(sum j < h { z[i, j] * z[i, j] }) } "
     "}",
     {false, true, false},
     Layers,
     12,
     3},
    {"distances of triplets",
     "fn f(x: [n, d]f64) -> f64 { return sum i < n, j < n, k < n { max(0.0, 1.0 + (sum a < d { "
     "(x[i, a] - x[j, a]) ** 2 }) - (sum a < d { (x[i, a] - x[k, a]) ** 2 })) } }",
     {true},
     Points,
     4,
     2},
};

TEST_CASE("rows first: gradients by an array whose index is around the rows hold rows", "[long]") {
  for (const RowsProgram& p : kPrograms) {
    INFO(p.name);
    const ir::Module module = testing::LowerText(p.text, "f");
    testing::CheckDerivatives(module, p.args(4, 3), 1e-5, p.wrt);
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, p.wrt);
    for (const int64_t n : {50, 100}) {
      const std::vector<Tensor> args = p.args(n, 2);
      CHECK(ElementsMade(gradient, args, LowerOptions{}) >= n * n);
      // Rows of a block are no more than the columns of what they are added to.
      CHECK(ElementsMade(gradient, args, kRows) <= 2 * p.of_rows * n + p.of_own * 2 * n);
    }
  }
}

TEST_CASE("rows first: rows next to a turn's own, to which it adds, are whole a few turns later") {
  for (const char* term : {"logsumexp(gen j < 5 { dot(q[i], r[i + j]) })",
                           "sum j < 5 { sin(dot(q[i + 4], r[i + j])) }",
                           "norm2(softmax(gen j < 5 { dot(q[i + 2], r[i + 4 - j]) }))"}) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, h]f64, u: [d, h]f64) -> f64 { let q = x @ w\n let r = x @ u\n "
        "return sum i < max(0, n - 4) { " +
        std::string(term) + " } }";
    INFO(text);
    const ir::Module module = testing::LowerText(text, "f");
    const auto args = [](int64_t n) {
      return std::vector<Tensor>{Ramp({n, 2}), Ramp({2, 8}), Ramp({2, 8})};
    };
    testing::CheckDerivatives(module, args(7));
    for (const std::vector<bool>& wrt :
         {std::vector<bool>{false, false, true}, {true, true, true}}) {
      const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
      // No array of n rows of eight; cotangents of x have two, and are made twice.
      CHECK(ElementsMade(gradient, args(400), kRows) < (wrt[0] ? 13 : 8) * 400);
      for (const int64_t n : {0, 3, 4, 5, 16, 19, 20, 21, 37}) {
        RunBoth(gradient, args(n), Traps::kSame, kRows);
        RunBoth(gradient, args(n), Traps::kSame);
      }
    }
  }
}

// As many turns as a block has, one more, one less, and none.
TEST_CASE("rows first: blocks of rows have the bits of rows one by one") {
  for (const RowsProgram& p : kPrograms) {
    INFO(p.name);
    const ir::Module gradient =
        testing::Derived(testing::LowerText(p.text, "f"), Transform::kValueAndGrad, p.wrt);
    for (const int64_t n : {int64_t{0}, int64_t{1}, kBlockTurns - 1, kBlockTurns, kBlockTurns + 1,
                            2 * kBlockTurns + 3}) {
      for (const int64_t d : {int64_t{0}, int64_t{1}, int64_t{3}, kBlockTurns + 2})
        RunBoth(gradient, p.args(n, d), Traps::kSame, kRows);
    }
  }
}

TEST_CASE("rows first: what rows add to a matrix is added a block at a time") {
  const auto print = [](const RowsProgram& p) {
    return Print(*LowerToLoops(
        testing::Derived(testing::LowerText(p.text, "f"), Transform::kValueAndGrad, p.wrt), kRows));
  };
  const std::string layer = print(kPrograms[4]);
  CHECK(layer.find("for %block in") != std::string::npos);
  CHECK(layer.find("alloc f64 [%n, %h]") == std::string::npos);
  // The range of its loop is another in each turn.
  CHECK(print(kPrograms[0]).find("for %block in") == std::string::npos);
}

// Its loops rely on checks that others make in the same turn.
TEST_CASE("rows first: blocks of rows whose turns check what they read") {
  const ir::Module jacobian = testing::Derived(
      testing::LowerText(
          "fn f(z: [n, n]f64, k: i64) -> [n, n]f64 {\n  var w = z\n  for i < k + 1 { w "
          "= tanh.(w @ z) + 0.3 * w }\n  return w\n}",
          "f"),
      Transform::kJacobian, {true, false});
  for (const int64_t n : {0, 1, 3, 5})
    RunBoth(jacobian, {Ramp({n, n}), Tensor::I64(1)}, Traps::kSame, kRows);
  const ir::Module steps = testing::Derived(
      testing::LowerText("fn f(x: [n, h]f64, w: [h, m]f64, u: [m]f64) -> f64 {\n  var y = x\n  var "
                         "t = 0.0\n  for z < 3 {\n    t = t + (sum i < n { (sum a < m { tanh(sum b "
                         "< h { y[i, b] * w[b, a] }) * u[a] }) ** 2 })\n    y = y * 0.5\n  }\n  "
                         "return t\n}",
                         "f"),
      Transform::kValueAndGrad, {false, true, false});
  for (const int64_t n : {0, 1, 3, 17})
    RunBoth(steps, {Ramp({n, 3}), Ramp({3, 4}), Ramp({4})}, Traps::kSame, kRows);
}

// With them a turn would have them again for each row of the matrix.
TEST_CASE("rows first: turns with costly scalars, or many, take no blocks") {
  const auto layer = [](const std::string& factor, const std::string& functions = "") {
    const ir::Module gradient = testing::Derived(
        testing::LowerText(functions +
                               "fn f(x: [n, d]f64, w: [d, h]f64, t: [n]f64) -> f64 { return sum i "
                               "< n { (sum j < h { tanh(sum a < d { " +
                               factor + " * x[i, a] * w[a, j] }) }) ** 2 } }",
                           "f"),
        Transform::kValueAndGrad, {false, true, false});
    RunBoth(gradient, {Ramp({5, 2}), Ramp({2, 3}), Ramp({5})}, Traps::kSame, kRows);
    return Print(*LowerToLoops(gradient, kRows)).find("for %block in") != std::string::npos;
  };
  CHECK(layer("2.0 * t[i]"));
  CHECK_FALSE(layer("exp(t[i])"));
  std::string chain = "fn c(t: f64) -> f64 {\n  let a0 = t\n";
  constexpr int kLong = 40;
  for (int k = 1; k <= kLong; ++k) {
    const std::string before = "a" + std::to_string(k - 1);
    chain +=
        "  let a" + std::to_string(k) + " = " + before + " * " + before + " + " + before + "\n";
  }
  chain += "  return a" + std::to_string(kLong) + "\n}\n";
  CHECK_FALSE(layer("c(t[i])", chain));
}

// One turn makes a matrix, and there are no 16 of them.
TEST_CASE("rows first: blocks take no more room than what rows are added to") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [m, d]f64, y: [n, d]f64, w: [d, h]f64) -> f64 { let s = gen b < m, i < n, j < h { "
      "tanh(sum a < d { x[b, a] * y[i, a] * w[a, j] }) }; return sum b < m, j < h { (sum i < n { "
      "s[b, i, j] }) ** 2 } }",
      "f");
  for (const std::vector<bool>& wrt :
       {std::vector<bool>{false, true, false}, {false, false, true}, {true, true, true}}) {
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
    constexpr int64_t n = 50;
    const int64_t made = ElementsMade(gradient, {Ramp({1, 1}), Ramp({n, 1}), Ramp({1, n})}, kRows);
    CHECK(made < 4 * n * n);
  }
}

// Over q, k [n, d]; %s [n, n] is made by rows.
std::string Reader(const std::string& reader, const std::string& results = "[*,*]f64",
                   const std::string& made = "") {
  return "fn @f(%q: [*,*]f64, %k: [*,*]f64) -> (" + results +
         ") {\nb0:\n  %n = dim %q, 0\n  %d = dim %q, 1\n  %c = dim %k, 1\n  %m = dim %k, 0\n"
         "  %same = eq %n, %m\n  check %same, size_mismatch, %n, %m\n"
         "  %s = each(i < %n, j < %n, a < %d) {\n    %u = index %q[%i, %a]\n    %v = index %k[%j, "
         "%a]\n    %w = mul %u, %v\n  } sum [%i, %j] of (%n, %n): %w\n" +
         made + reader + "}\n";
}
bool RunsFirst(const std::string& text) {
  const ir::Module module = ParseIr(text);
  RunBoth(module, {Ramp({5, 2}), Ramp({5, 2})});
  return RunRowsFirst(module.Get(module.entry)).has_value();
}
const std::string kReads =
    "    %x = index %s[%i, %j]\n    %y = index %q[%i, %l]\n    %z = mul %x, %y\n";

TEST_CASE("rows first: only where terms stay in order, and the rows of a turn are enough") {
  const std::string sum = "  } sum [%j, %l] of (%n, %d): %z\n  ret %y\n";
  CHECK(RunsFirst(Reader("  %y = each(j < %n, i < %n, l < %d) {\n" + kReads + sum)));
  SECTION("they are first") {
    CHECK_FALSE(RunsFirst(Reader("  %y = each(i < %n, j < %n, l < %d) {\n" + kReads + sum)));
  }
  SECTION("sums in lanes") {
    CHECK_FALSE(RunsFirst(Reader("  %y = each(j < %n, l < %d, i < %n) {\n" + kReads + sum)));
  }
  SECTION("two indices that are summed over would change places") {
    CHECK_FALSE(RunsFirst(Reader("  %y = each(l < %d, j < %n, i < %n) {\n" + kReads +
                                     "  } sum [%l + 0 * %j] of (%d): %z\n  ret %y\n",
                                 "[*]f64")));
    CHECK_FALSE(RunsFirst(Reader(
        "  %y = each(j < %n, i < %n, l < %d) {\n" + kReads + "  } sum [%l] of (%d): %z\n  ret %y\n",
        "[*]f64")));
  }
  SECTION("an element of several points") {
    CHECK_FALSE(
        RunsFirst(Reader("  %h = sub %d, 1\n  %e = add %n, %h\n  %y = each(j < %n, i < %n, "
                         "l < %d) {\n" +
                             kReads + "  } sum [%j + %l] of (%e): %z\n  ret %y\n",
                         "[*]f64")));
  }
  SECTION("the array is a result") {
    CHECK_FALSE(RunsFirst(Reader("  %y = each(j < %n, i < %n, l < %d) {\n" + kReads +
                                     "  } sum [%j, %l] of (%n, %d): %z\n  ret %y, %s\n",
                                 "[*,*]f64, [*,*]f64")));
  }
  SECTION("it is read by columns, too") {
    CHECK_FALSE(RunsFirst(
        Reader("  %y = each(j < %n, i < %n, l < %d) {\n" + kReads +
                   "  } sum [%j, %l] of (%n, %d): %z\n  %t = each(i < %n, j < %n) {\n    %x2 = "
                   "index %s[%j, %i]\n  } sum [%i] of (%n): %x2\n  ret %y, %t\n",
               "[*,*]f64, [*]f64")));
  }
  SECTION("the total of all rows is needed first") {
    const std::string total =
        "  %t = each(i < %n, j < %n) {\n    %x0 = index %s[%i, %j]\n  } sum []: %x0\n";
    CHECK_FALSE(
        RunsFirst(Reader("  %y = each(j < %n, i < %n, l < %d) {\n    %x = index %s[%i, "
                         "%j]\n    %y0 = index %q[%i, %l]\n    %p = mul %x, %y0\n    %z = "
                         "mul %p, %t\n" +
                             sum,
                         "[*,*]f64", total)));
  }
  SECTION("a row of what is made of it is another turn's") {
    const std::string made =
        "  %o = each(i < %n, l < %d, j < %n) {\n    %x0 = index %s[%i, %j]\n    %y0 = index %q[%j, "
        "%l]\n    %z0 = mul %x0, %y0\n  } sum [%i, %l] of (%n, %d): %z0\n";
    const auto reader = [&](const std::string& row) {
      return Reader(
          "  %y = each(j < %n, i < %n, l < %d) {\n    %x = index %s[%i, %j]\n    %y1 = "
          "index %o[" +
              row + ", %l]\n    %z = mul %x, %y1\n" + sum,
          "[*,*]f64", made);
    };
    CHECK(RunsFirst(reader("%i")));
    CHECK_FALSE(RunsFirst(reader("%j")));
  }
}

TEST_CASE("rows first: an array no larger than the function's own stays") {
  // %s [n, d], as %q is.
  const auto text = [](const std::string& extent) {
    return "fn @f(%q: [*,*]f64, %k: [*,*]f64) -> [*,*]f64 {\nb0:\n  %n = dim %q, 0\n  %d = dim %q, "
           "1\n  %m = dim %k, 0\n  %s = each(i < %n, j < " +
           extent + ") {\n    %u = index %q[%i, %j]\n    %v = exp %u\n  } gen [%i, %j] of (%n, " +
           extent + "): %v\n  %y = each(j < " + extent + ", i < %n, l < %d) {\n" + kReads +
           "  } sum [%j, %l] of (" + extent + ", %d): %z\n  ret %y\n}\n";
  };
  CHECK_FALSE(RunsFirst(text("%d")));
  const ir::Module larger = ParseIr(text("%m"));  // traps unless k has as many rows as q columns
  CHECK(RunRowsFirst(larger.Get(larger.entry)).has_value());
  RunBoth(larger, {Ramp({5, 2}), Ramp({2, 2})});
}

TEST_CASE("rows first: a sum of two arrays is made by rows where it is read by rows") {
  const std::string two =
      "  %t = each(i < %n, j < %n) {\n    %x0 = index %s[%i, %j]\n    %x1 = mul %x0, %x0\n  } gen "
      "[%i, %j] of (%n, %n): %x1\n  %r = add_arrays %s, %t\n";
  const std::string read = "    %x = index %r[%i, %j]\n";
  CHECK(RunsFirst(
      Reader("  %y = each(i < %n, j < %n) {\n" + read + "  } sum [%i] of (%n): %x\n  ret %y\n",
             "[*]f64", two)));
  CHECK_FALSE(RunsFirst(Reader("  ret %r\n", "[*,*]f64", two)));
  CHECK_FALSE(RunsFirst(
      Reader("  %y = each(i < %n, j < %n) {\n" + read + "  } sum [%j] of (%n): %x\n  ret %y, %r\n",
             "[*]f64, [*,*]f64", two)));
}

// The cotangents of the code's mean, [n, k] as the noise, are such a sum.
TEST_CASE(
    "rows first: a sum of two arrays of the function's own size, between larger ones, is by rows") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [n, d]f64, a: [d, h]f64, m: [h, k]f64, s: [h, k]f64, b: [k, d]f64, e: [n, k]f64) -> "
      "f64 { let hid = tanh.(x @ a)\n let mu = hid @ m\n let ls = hid @ s\n let z = mu + exp.(ls) "
      "* "
      "e\n let r = z @ b\n let kl = sum i < n, j < k { 0.5 * (exp(2.0 * ls[i, j]) + mu[i, j] ** 2 "
      "- "
      "1.0) - ls[i, j] }\n return kl + sum i < n, j < d { (r[i, j] - x[i, j]) ** 2 } }",
      "f");
  const auto args = [](int64_t n) {
    return std::vector<Tensor>{Ramp({n, 2}),  Ramp({2, 30}), Ramp({30, 3}),
                               Ramp({30, 3}), Ramp({3, 2}),  Ramp({n, 3})};
  };
  const std::vector<bool> wrt = {false, true, false, false, false, false};
  testing::CheckDerivatives(module, args(2), 1e-5, wrt);
  const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, wrt);
  CHECK(ElementsMade(gradient, args(200), kRows) < 200 * 10);
  CHECK(ElementsMade(gradient, args(200), LowerOptions{}) >= 3 * 200 * 30);
  for (const int64_t n : {0, 1, 15, 16, 17, 35}) RunBoth(gradient, args(n), Traps::kSame, kRows);
}

// Its second loop is by rows of the cotangents, [h, o, w], which are larger than the matrix of products, [o, o].
TEST_CASE("rows first: not of an array smaller than one that is by rows for it") {
  const ir::Module module = testing::LowerText(
      "fn f(x: [c, h, w]f64, mix: [o, c]f64) -> f64 { let z = gen a < o, i < h, j < w { sum b < c "
      "{ "
      "mix[a, b] * x[b, i, j] } }\n let g = gen a < o, b < o { sum i < h, j < w { z[a, i, j] * "
      "z[b, "
      "i, j] } }\n return sqrt(sum(g * g)) }",
      "f");
  const auto args = [](int64_t h) { return std::vector<Tensor>{Ramp({2, h, 3}), Ramp({9, 2})}; };
  testing::CheckDerivatives(module, args(4), 1e-5, {false, true});
  const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, {false, true});
  CHECK(ElementsMade(gradient, args(100), kRows) < 100 * 9 * 3 + 10 * 100);
  for (const int64_t h : {0, 1, 17}) RunBoth(gradient, args(h), Traps::kSame, kRows);
}

// A row is there in every turn, also of an array without rows.
TEST_CASE("rows first: fewer rows than turns, rows of rows") {
  for (const char* const text :
       {"fn f(x: [n, d]f64, w: [h]f64) -> f64 {\n"
        "  let a = gen i < max(n - 1, 0), j < d, k < h { sum q < h { [k > 0] * sin(w[q] * x[i, j]) "
        "} }\n"
        "  return sum i < n, j < d, k < h { tanh(if i < max(n - 1, 0) { a[i, j, k] } else { 0.0 }) "
        "}\n}\n",
        "fn f(x: [n, d]f64, w: [h]f64) -> f64 {\n  var z = zeros(n, d, h)\n"
        "  for i < n - 1 { for j < d { for k in 1..h { z[i, j, k] = sum q < h { sin(w[q] * x[i, "
        "j]) } } } }\n"
        "  return sum i < n, j < d, k < h { tanh(z[i, j, k]) }\n}\n"}) {
    INFO(text);
    const ir::Module ssa = testing::LowerText(text, "f");
    for (const Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module final = testing::Derived(ssa, transform);
      for (const int64_t n : {0, 1, 2, 4}) {
        INFO("n = " << n);
        RunBoth(final, {Ramp({n, 2}), Ramp({5})});
        RunBoth(final, {Ramp({n, 2}), Ramp({5})}, Traps::kSame, kRows);
      }
    }
  }
}

}  // namespace
}  // namespace pullback::loops
