// Rows that are read at places which run with an index are made at these: the same as unoptimised, and not made otherwise.
#include <catch2/catch.hpp>

#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// Products that are made for all rows of x.
int CountWholeRows(const ir::Module& m) {
  const ir::Function& f = m.Get(m.entry);
  ir::Value rows;
  int count = 0;
  for (const ir::Inst& inst : f.blocks[0].insts) {
    if (inst.op == ir::Op::Dim && inst.args[0] == f.params()[0] && inst.bits == 0)
      rows = inst.results[0];
    if (inst.each && inst.each->indices.size() == 3)
      count += inst.each->indices[0].extent == rows ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("rows as read: by one more, every other one, backwards, two halves") {
  struct Case {
    const char* rows;
    const char* body;
    int whole;
  };
  for (const Case& c : {
           Case{"n + 1", "  return sum i in 1..n + 1 { norm(z[i] + 0.3) }\n", 0},
           Case{"n + 1", "  return sum(sin.(z[1:]) * z[1:])\n", 0},
           Case{"n + 1", "  return sum i < n { f64(i) * norm(z[n - i] + 0.3) }\n", 0},
           Case{"2 * n", "  return sum i < n { dot(z[2 * i], z[2 * i + 1]) }\n", 0},
           Case{"2 * n", "  return sum i < n { dot(z[i], cos.(z[n + i])) }\n", 0},
           Case{"3 * n", "  return sum i < n { log(1.0 + norm2(z[3 * i] - z[3 * i + 2])) }\n", 0},
           Case{"n", "  return sum i < n - 1 { logsumexp(z[i]) }\n", 0},
           Case{"n", "  return sum i < n - 1 { dot(z[i], z[i + 1]) }\n", 1},
           Case{"2 * n", "  return sum i < n { dot(z[2 * i], z[2 * i + 1]) + z[i, 0] }\n", 1},
       }) {
    const std::string text = "fn f(x: [" + std::string(c.rows) +
                             ", d]f64, w: [d, s]f64) -> f64 {\n  let z = tanh.(x @ w)\n" + c.body +
                             "}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    CHECK(CountWholeRows(Derived(ssa, Transform::kValue)) == c.whole);
    for (int64_t rows : {6, 12, 24}) {
      const std::vector<Tensor> args = {Waves(rows, 3, 0.5), Waves(3, 4, 1.5)};
      CheckSameOptimised(ssa, Transform::kValue, args);
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    }
    CheckDerivatives(ssa, {Waves(6, 3, 0.5), Waves(3, 4, 1.5)});
    CheckSameOptimised(ssa, Transform::kHessian, {Waves(6, 1, 0.5), Waves(1, 3, 1.5)});
  }
}

TEST_CASE("rows as read: by twos and threes of any number of rows") {
  for (const char* body : {"sum i < n / 2 { norm2(z[2 * i] - z[2 * i + 1]) }",
                           "sum i < (n - 1) / 2 { logsumexp(z[2 * i + 1]) + norm(z[2 * i + 2]) }",
                           "sum i < n / 3 { dot(z[3 * i], z[3 * i + 2]) }",
                           "sum i < (n + 5) / 4 - 1 { norm2(z[4 * i]) }"}) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n  let z = tanh.(x @ w)\n  return " +
        std::string(body) + "\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    CHECK(CountWholeRows(Derived(ssa, Transform::kValue)) == 0);
    const bool told = text.find("- 1 {") == text.npos;  // that the number of rows is not negative
    for (int64_t rows : {0, 1, 2, 3, 5, 6, 7, 24}) {
      if (!told && rows < 3) continue;
      const std::vector<Tensor> args = {Waves(rows, 3, 0.5), Waves(3, 4, 1.5)};
      CheckSameOptimised(ssa, Transform::kValue, args);
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    }
  }
  // Rows that are not there.
  const ir::Module far = LowerText(
      "fn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n  let z = tanh.(x @ w)\n"
      "  return sum i < n / 2 { norm2(z[2 * i + 2]) }\n}\n",
      "f");
  for (int64_t rows : {1, 2, 3, 4}) {
    const auto run =
        eval::Run(Derived(far, Transform::kValue), {Waves(rows, 3, 0.5), Waves(3, 4, 1.5)});
    REQUIRE(run.ok());
    CHECK(run->trap.has_value() == (rows % 2 == 0));
  }
}

TEST_CASE("rows as read: sets of many rows") {
  for (const char* body :
       {"sum b < n / 16 { (sum j < 16 { norm2(z[16 * b + j]) }) ** 2 }",
        "sum b < n / 10, l < s { (max j < 10 { z[10 * b + j, l] }) ** 2 }",
        "sum b < n / 24 { dot(sum j < 12 { z[24 * b + j] }, sum j < 12 { z[24 * b + j + 12] }) }",
        "sum b < n / 9 { let m = (sum j < 9 { z[9 * b + j] }) / 9.0; sum j < 9 { norm2(z[9 * b + "
        "j] - "
        "m) } }",
        "sum b < n / 12 { (sum j < 12 { f64(j) * z[12 * b + j, j % s] }) ** 2 }",
        "sum b < n / 16 { (sum j < 10 { z[16 * b + 3 + j, 0] }) ** 2 }"}) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n  let z = tanh.(x @ w)\n  return " +
        std::string(body) + "\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    CHECK(CountWholeRows(Derived(ssa, Transform::kValue)) == 0);
    for (int64_t rows : {0, 1, 8, 9, 16, 24, 33, 50}) {
      const std::vector<Tensor> args = {Waves(rows, 3, 0.5), Waves(3, 4, 1.5)};
      CheckSameOptimised(ssa, Transform::kValue, args);
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    }
    CheckDerivatives(ssa, {Waves(26, 2, 0.5), Waves(2, 3, 1.5)});
    CheckSameOptimised(ssa, Transform::kHessian, {Waves(25, 1, 0.5), Waves(1, 3, 1.5)});
  }
  // Sets that meet, and rows that others read in order.
  for (const char* body : {"sum b < n / 16 - 1 { (sum j < 21 { z[16 * b + j, 0] }) ** 2 }",
                           "sum b < n / 16 - 1 { (sum j < 20 { z[16 * b + j, 0] }) ** 2 }",
                           "sum b < n / 16 { (sum j < 16 { norm2(z[16 * b + j]) }) ** 2 } + sum i "
                           "< n { norm2(z[i]) ** 2 }"}) {
    const ir::Module ssa =
        LowerText("fn f(x: [n, d]f64, w: [d, s]f64) -> f64 {\n  let z = tanh.(x @ w)\n  return " +
                      std::string(body) + "\n}\n",
                  "f");
    INFO(body);
    for (int64_t rows : {16, 17, 40}) {
      const std::vector<Tensor> args = {Waves(rows, 3, 0.5), Waves(3, 4, 1.5)};
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    }
  }
}

TEST_CASE("rows as read: sets of rows behind numbers of each") {
  struct Case {
    const char* layer;
    const char* sum;  // with sets
    int whole;
  };
  const char* means = "sum b < n / 12 { (sum j < 12 { norm2(q[12 * b + j]) }) ** 2 }";
  const char* columns =
      "sum b < n / 12 { let m = (sum j < 12 { q[12 * b + j] }); log(1.0 + norm2(m)) }";
  const char* layer_norm =
      "  let m = gen i < n { sum(z[i]) / f64(s) }\n"
      "  let r = gen i < n { sqrt(norm2(z[i] - m[i]) / f64(s) + 0.001) }\n"
      "  let q = gen i < n, l < s { (z[i, l] - m[i]) / r[i] }\n";
  for (const Case& c : {
           Case{"  let q = gen i < n { softmax(z[i]) }\n", columns, 0},
           Case{"  let q = gen i < n { softmax(z[i]) }\n", means, 0},
           Case{layer_norm, columns, 0},
           Case{layer_norm, "sum b < n / 12 { (max j < 12 { q[12 * b + j, j % s] }) ** 2 }", 0},
           Case{"  let q = gen i < n { z[i] / sqrt(1.0 + norm2(z[i])) }\n", columns, 0},
           Case{"  let p = gen i < n { z[i] / sqrt(1.0 + norm2(z[i])) }\n"
                "  let q = gen i < n { tanh.(p[i] @ u) / sqrt(1.0 + norm2(p[i])) }\n",
                columns, 0},
           Case{"  let q = gen i < n { logsumexp(z[i]) }\n",
                "sum b < n / 12 { (sum j < 12 { q[12 * b + j] }) ** 2 }", 0},
           Case{"  let q = gen i < n { cumsum(z[i]) }\n", columns, 0},
           // Windows, of which a few rows more are made for each set.
           Case{"  let q = gen i < n { z[max(0, i - 1)] - 0.5 * z[min(n - 1, i + 1)] }\n", columns,
                0},
           Case{"  let q = gen i < n, l < s { sum p < 3 { [i + p >= 1 and i + p - 1 < n] * z[i + p "
                "- 1, l] * u[p, l] } }\n",
                columns, 0},
           Case{"  let q = gen i < n, l < s { sum j < n { [abs(i - j) <= 1] * z[j, l] * f64(j - i "
                "+ 2) "
                "} }\n",
                columns, 0},
           Case{"  let p = gen i < n { softmax(z[i]) }\n"
                "  let q = gen i < n { p[i] - p[max(0, i - 1)] }\n",
                means, 0},
           Case{"  let q = gen i < n { let p = softmax(gen j < 2 { dot(z[i], z[max(0, i - j)]) }); "
                "p[0] * z[i] + p[1] * z[max(0, i - 1)] }\n",
                columns, 0},
           Case{"  let q = gen i < n { z[i] - z[(i + 1) % n] }\n", columns, 0},
           Case{"  let q = gen i < n { tanh.(z[n - 1 - i] @ u) }\n", columns, 0},
           // More rows than a quarter of each set's.
           Case{"  let q = gen i < n { z[i] - 0.5 * z[max(0, i - 4)] }\n", columns, 1},
           // The rows, or what divides them, are needed in order, too.
           Case{"  let q = gen i < n { z[i] / sqrt(1.0 + norm2(z[i])) }\n",
                "sum b < n / 12 { (sum j < 12 { norm2(q[12 * b + j]) }) ** 2 } + sum i < n { "
                "sin(z[i, 0]) }",
                1},
           Case{"  let r = gen i < n { sqrt(1.0 + norm2(z[i])) }\n",
                "sum b < n / 12 { (sum j < 12 { z[12 * b + j, 0] / r[12 * b + j] }) ** 2 } + sum i "
                "< "
                "n { sin(r[i]) }",
                1},
       }) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, s]f64, u: [s, s]f64) -> f64 {\n  let z = tanh.(x @ w)\n" +
        std::string(c.layer) + "  return " + c.sum + "\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    CHECK(CountWholeRows(Derived(ssa, Transform::kValue)) == c.whole);
    for (int64_t rows : {0, 1, 11, 12, 24, 35, 36}) {
      const std::vector<Tensor> args = {Waves(rows, 3, 0.5), Waves(3, 4, 1.5), Waves(4, 4, 0.7)};
      CheckSameOptimised(ssa, Transform::kValue, args);
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    }
    CheckDerivatives(ssa, {Waves(26, 2, 0.5), Waves(2, 3, 1.5), Waves(3, 3, 0.7)});
    CheckSameOptimised(ssa, Transform::kHessian,
                       {Waves(25, 1, 0.5), Waves(1, 3, 1.5), Waves(3, 3, 0.7)});
  }
}

TEST_CASE("rows as read: from the end, of layers that read rows next to their own") {
  for (const char* layer :
       {"gen i < n, l < s { sum j < n { [abs(i - j) <= 1] * z[j, l] } }",
        "gen i < n, l < s { sum q < 3 { [i + q >= 1 and i + q - 1 < n] * z[i + q - 1, l] } }",
        "gen i < n, l < s { sum j < n { [i <= j and j <= i + 2] * z[j, l] * f64(j - i) } }",
        "gen i < n { z[i] + 0.5 * z[max(0, i - 1)] }",
        "gen i < n { cumsum(z[i]) - 0.5 * z[n - 1] }", "gen i < n { z[i] * 2.0 }"}) {
    for (const char* loss : {"sum i < n { norm2(sin.(c[n - 1 - i] @ u)) }",
                             "sum i < n { max l < s { (c[n - 1 - i] @ u)[l] } }",
                             "sum i < n / 2 { norm2(c[n - 1 - 2 * i] - c[n - 2 - 2 * i] @ u) }",
                             "sum i < n / 2 { dot(c[n / 2 - 1 - i], c[i]) }"}) {
      const std::string text =
          "fn f(x: [n, d]f64, w: [d, s]f64, u: [s, s]f64) -> f64 {\n  let z = tanh.(x @ w)\n"
          "  let c = " +
          std::string(layer) + "\n  return " + loss + "\n}\n";
      INFO(text);
      const ir::Module ssa = LowerText(text, "f");
      for (int64_t rows : {0, 1, 2, 3, 6, 19}) {
        const std::vector<Tensor> args = {Waves(rows, 2, 0.5), Waves(2, 3, 1.5), Waves(3, 3, 2.5)};
        CheckSameOptimised(ssa, Transform::kValue, args);
        CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
      }
      CheckDerivatives(ssa, {Waves(5, 2, 0.5), Waves(2, 3, 1.5), Waves(3, 3, 2.5)});
    }
  }
}

// Of rows from the end that a condition keeps in range: their cotangents have no places for all of the statement's rows.
TEST_CASE("rows as read: from the end, under conditions") {
  for (const char* row : {"[i >= 1] * sum p < d { x[n - i, p] * w[p, l] }",
                          "sum p < d { [i <= n - 2] * x[n - 2 - i, p] * w[p, l] }",
                          "[i >= 1] * sin(sum p < d { x[n - i, p] * w[p, l] })",
                          "[i + 3 < n] * sum p < d { x[n - 4 - i, p] * w[p, l] }",
                          "sum p < d { x[n - 1 - i, p] * w[p, l] }"}) {
    INFO(row);
    const ir::Module ssa =
        LowerText(std::string("fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n"
                              "  let z = gen i < n, l < h { ") +
                      row + " }\n  return sum i < n, l < h { z[i, l] ** 3 }\n}\n",
                  "f");
    for (int64_t n : {0, 1, 2, 5, 17})
      CheckSameOptimised(ssa, Transform::kValueAndGrad, {Waves(n, 2, 0.5), Waves(2, 3, 1.5)});
  }
}

TEST_CASE("rows as read: the next word") {
  const ir::Module ssa = LowerText(
      "fn f(e: [v, d]f64, w: [d, s]f64, u: [s, v]f64, tok: [n]i64) -> f64 {\n"
      "  let x = gen i < n { e[tok[i]] }\n  let z = tanh.(x @ w) @ u\n"
      "  return sum i < n - 1 { -log_softmax(z[i])[tok[i + 1]] }\n}\n",
      "f");
  for (int64_t n : {1, 2, 7}) {
    std::vector<int64_t> words;
    for (int64_t k = 0; k < n; ++k) words.push_back(k * 3 % 4);
    const std::vector<Tensor> args = {Waves(4, 3, 0.5), Waves(3, 2, 1.5), Waves(2, 4, 2.5),
                                      Tensor::Of(DType::kI64, {n}, words)};
    CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    CheckDerivatives(ssa, args, 1e-5, {true, true, true, false});
  }
}

TEST_CASE("rows as read: each in front of its own readers") {
  for (const char* program :
       {"fn f(y: [m]f64, x: [2 * m + 2, d]f64, w: [d, e]f64) -> f64 {\n  let z = x @ w\n"
        "  let a = sum i < m { y[i] * (max j < e { z[2 * i, j] }) }\n"
        "  let b = sum i < m + 1 { max j < e { z[2 * i + 1, j] * a } }\n  return a * b\n}\n",
        "fn f(y: [m]f64, x: [m + m + 1, d]f64, w: [d, e]f64) -> f64 {\n  let z = x @ w\n"
        "  let a = sum i < m { y[i] * (max j < e { z[i, j] }) }\n"
        "  let b = sum i < m + 1 { max j < e { z[i + m, j] * a } }\n  return a * b\n}\n"}) {
    INFO(program);
    const ir::Module ssa = LowerText(program, "f");
    const int64_t rows = std::string(program).find("2 * m + 2") == std::string::npos ? 7 : 8;
    Tensor y = Waves(3, 1, 0.2);
    y.shape = {3};
    CheckSameOptimised(ssa, Transform::kValueAndGrad, {y, Waves(rows, 2, 0.5), Waves(2, 4, 1.5)});
  }
}

TEST_CASE("rows as read: a size that is negative is that of the reader") {
  const ir::Module ssa = LowerText(
      "fn f(x: [n, d]f64, w: [d, e]f64) -> f64 {\n  let z = x @ w\n"
      "  return sum i < n - 2 { max j < e { z[i + 2, j] } }\n}\n",
      "f");
  const std::vector<Tensor> args = {Waves(1, 2, 0.5), Waves(2, 3, 1.5)};
  const auto optimised = eval::Run(Derived(ssa, Transform::kValue), args);
  const auto plain = eval::Run(ssa, args);
  REQUIRE(optimised.ok());
  REQUIRE(plain.ok());
  REQUIRE(optimised->trap);
  REQUIRE(plain->trap);
  CHECK(optimised->trap->kind == ir::TrapKind::kNegativeSize);
  CHECK(optimised->trap->loc == plain->trap->loc);
}

}  // namespace pullback::testing
