// Arrays behind each other that are not put together: the same as unoptimised, derivatives, too.
#include <catch2/catch.hpp>

#include <set>

#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// Whether some statement reads a row of either of two matrices that are made.
bool ReadsEither(const ir::Module& m) {
  const ir::Function& f = m.Get(m.entry);
  std::set<ir::Value> made, elements;
  for (const ir::Inst& inst : f.blocks[0].insts) {
    if (!inst.each) continue;
    for (const ir::Inst& read : inst.each->body) {
      if (read.op == ir::Op::Index && read.subs.size() == 2 && made.contains(read.args[0]))
        elements.insert(read.results[0]);
      if (read.op == ir::Op::Select && elements.contains(read.args[1]) &&
          elements.contains(read.args[2]))
        return true;
    }
    made.insert(inst.results.begin(), inst.results.end());
  }
  return false;
}

Tensor FourNumbers() {
  return Tensor::Of(DType::kF64, {4}, std::vector<double>{0.5, -0.3, 0.8, 0.2});
}

}  // namespace

TEST_CASE("split concats: layers, columns, sums, parts of parts; keys of all stay") {
  struct Case {
    const char* rows;
    const char* body;
    bool together;
  };
  const char *two = "concat(x @ w, y @ w)", *three = "concat(concat(x, y) @ w, y @ w)";
  for (const Case& c : {
           Case{two, "  return sum(tanh.(z) @ v)\n", false},
           Case{two, "  return norm2(tanh.(z) @ v - 0.5)\n", false},
           Case{two, "  return sum i < n + m { f64(i) * logsumexp(z[i]) }\n", false},
           Case{two, "  return logsumexp(tanh.(z) @ v)\n", false},
           Case{two, "  return sum j < 4 { (sum i < n + m { exp(z[i, j]) }) ** 2 }\n", false},
           Case{two, "  return sum i < n + m { [i > 1] * norm(z[i] + 0.3) }\n", false},
           Case{two, "  return sum(tanh.(tanh.(z) @ transpose(w)))\n", false},
           Case{two, "  return sum i < n + m { logsumexp(z @ z[i]) }\n", true},
           Case{two, "  return max i < n + m { dot(z[i], v) }\n", false},
           Case{three, "  return sum i < n + m + m { norm(z[i] + 0.3) }\n", false},
       }) {
    const std::string text =
        "fn f(x: [n, d]f64, y: [m, d]f64, w: [d, 4]f64, v: [4]f64) -> f64 {\n  let z = " +
        std::string(c.rows) + "\n" + c.body + "}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    CHECK(ReadsEither(Derived(ssa, Transform::kValue)) == c.together);
    for (const auto& [n, m] :
         {std::pair(6, 3), std::pair(3, 6), std::pair(1, 1), std::pair(0, 2)}) {
      const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(m, 2, 0.7), Waves(2, 4, 1.5),
                                        FourNumbers()};
      CheckSameOptimised(ssa, Transform::kValue, args);
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    }
    CheckDerivatives(ssa, {Waves(3, 2, 0.5), Waves(2, 2, 0.7), Waves(2, 4, 1.5), FourNumbers()});
    CheckSameOptimised(ssa, Transform::kHessian,
                       {Waves(2, 1, 0.5), Waves(1, 1, 0.7), Waves(1, 4, 1.5), FourNumbers()});
  }
}

TEST_CASE("split concats: rows that a condition chooses are those of concatenated arrays") {
  struct Case {
    const char* chosen;
    const char* same;
    const char* rows;  // how many
  };
  for (const Case& c : {
           Case{"if i < n { x[i] @ w } else { y[i - n] @ w }", "concat(x @ w, y @ w)[i]", "n + m"},
           Case{"if i >= n { y[i - n] @ w } else { tanh.(x[i] @ w) }",
                "concat(tanh.(x @ w), y @ w)[i]", "n + m"},
           Case{"if i == 0 { v } else { x[i - 1] @ w }", "concat(gen j < 1 { v }, x @ w)[i]",
                "n + 1"},
           Case{"if i == n { v } else { x[i] @ w }", "concat(x @ w, gen j < 1 { v })[i]", "n + 1"},
           Case{"if i < 1 { v } else { if i < n + 1 { x[i - 1] @ w } else { 2.0 * v } }",
                "concat(gen j < 1 { v }, concat(x @ w, gen j < 1 { 2.0 * v }))[i]", "n + 2"},
           Case{"if i == 0 { v } else { if i == n + 1 { 2.0 * v } else { x[i - 1] @ w } }",
                "concat(gen j < 1 { v }, concat(x @ w, gen j < 1 { 2.0 * v }))[i]", "n + 2"},
           Case{"if i >= 1 and i <= n { x[i - 1] @ w } else { v }",
                "concat(gen j < 1 { v }, concat(x @ w, gen j < 1 { v }))[i]", "n + 2"},
           Case{"if i == 0 or i > n { v } else { x[i - 1] @ w }",
                "concat(gen j < 1 { v }, concat(x @ w, gen j < 1 { v }))[i]", "n + 2"},
           Case{"if i < n or i == n + m { v } else { y[i - n] @ w }",
                "concat(gen j < n { v }, concat(y @ w, gen j < 1 { v }))[i]", "n + m + 1"},
           Case{"if i < k { v } else { x[i] @ w }",
                "gen j < 4 { [i < k] * v[j] + [i >= k] * (x @ w)[i, j] }", "n"},
           Case{"if y[0, 0] < 0.3 { v } else { x[i] @ w }",
                "gen j < 4 { [y[0, 0] < 0.3] * v[j] + [y[0, 0] >= 0.3] * (x @ w)[i, j] }", "n"},
       }) {
    for (const char* read : {"norm2(z[i])", "logsumexp(z[i]) * f64(i)",
                             "(if i > 0 { norm2(z[i] - z[i - 1]) } else { 0.1 })"}) {
      const auto text = [&](const char* row) {
        return "fn f(x: [n, d]f64, y: [m, d]f64, w: [d, 4]f64, v: [4]f64, k: i64) -> f64 {\n  let "
               "z = gen i < " +
               std::string(c.rows) + " { " + row + " }\n  return sum i < " + c.rows + " { " + read +
               " }\n}\n";
      };
      INFO(text(c.chosen));
      const ir::Module chosen = LowerText(text(c.chosen), "f"), same = LowerText(text(c.same), "f");
      for (const auto& [n, m] : {std::pair(6, 3), std::pair(1, 1), std::pair(0, 2)}) {
        for (int64_t k : {-1, 0, 1, 9}) {
          const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(m, 2, 0.7), Waves(2, 4, 1.5),
                                            FourNumbers(),
                                            Tensor::Of(DType::kI64, {}, std::vector<int64_t>{k})};
          for (const Transform t : {Transform::kValue, Transform::kValueAndGrad}) {
            CheckSameOptimised(chosen, t, args);
            const std::vector<Tensor> got = RunOk(Derived(chosen, t), args);
            const std::vector<Tensor> want = RunOk(Derived(same, t), args);
            REQUIRE(got.size() == want.size());
            for (size_t r = 0; r < got.size(); ++r) {
              const std::vector<double> a = Doubles(got[r]), b = Doubles(want[r]);
              REQUIRE(a.size() == b.size());
              for (size_t e = 0; e < a.size(); ++e)
                CHECK(a[e] == Approx(b[e]).epsilon(1e-10).margin(1e-12));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("split concats: a chosen row that is not there is the error that it was") {
  for (const char* row :
       {"if i < n { x[i + 1] @ w } else { v }", "if i < k { x[i] @ w } else { v }",
        "if i == k { v } else { x[i - 1] @ w }", "if i > 0 { x[i - 1] @ w } else { x[k] @ w }",
        "if i >= 1 and i < k { x[i - 1] @ w } else { v }",
        "if i < 1 or i > k { v } else { x[i - 1] @ w }"}) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, 4]f64, v: [4]f64, k: i64) -> f64 {\n  let z = gen i < n + 1 { " +
        std::string(row) + " }\n  return sum i < n + 1 { norm2(z[i]) }\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    for (int64_t n : {0, 1, 3}) {
      for (int64_t k : {-1, 0, 1, 9}) {
        INFO("n = " << n << ", k = " << k);
        const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(2, 4, 1.5), FourNumbers(),
                                          Tensor::Of(DType::kI64, {}, std::vector<int64_t>{k})};
        const auto plain = eval::Run(ssa, args);
        REQUIRE(plain.ok());
        // As the rows say.
        const std::string r = row;
        const bool traps = r.find("x[i + 1]") != r.npos    ? n > 0
                           : r.find("and i < k") != r.npos ? false
                           : r.find("or i > k") != r.npos  ? false
                           : r.find("i < k") != r.npos     ? k > n
                           : r.find("i == k") != r.npos    ? k != 0
                                                           : k < 0 || k >= n;
        CHECK(plain->trap.has_value() == traps);
        for (const Transform t : {Transform::kValue, Transform::kValueAndGrad}) {
          const auto run = eval::Run(Derived(ssa, t), args);
          REQUIRE(run.ok());
          REQUIRE(run->trap.has_value() == traps);
          if (traps) CHECK(run->trap->kind == ir::TrapKind::kIndex);
        }
      }
    }
  }
}

TEST_CASE("split concats: what is read out of range ends the run") {
  for (const char* program : {
           "  let c = gen i < 2 * n, j < k - 1 { if i < n { a[i, j] } else { a[i - n, j] } }\n"
           "  return sum i < 2 * n, j < k { sin(c[i, j]) }\n",
           "  let c = gen i < n - 1, j < 2 * k { if j < k { a[i, j] } else { a[i, j - k] } }\n"
           "  return sum i < n, j < 2 * k { sin(c[i, j]) }\n",
           "  let c = gen i < 2 * n, j < k {\n    let t = a[i - n, j]\n"
           "    if i < n { a[i, j] } else { t }\n  }\n"
           "  return sum i < 2 * n { sin(sum j < k { c[i, j] }) }\n",
       }) {
    const std::string text = "fn f(x: [n, d]f64, w: [d, k]f64) -> f64 {\n  let a = tanh.(x @ w)\n" +
                             std::string(program) + "}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    const std::vector<Tensor> args = {Waves(4, 2, 0.5), Waves(2, 5, 1.5)};
    for (const Transform t : {Transform::kValue, Transform::kValueAndGrad}) {
      const auto plain = eval::Run(ssa, args), run = eval::Run(Derived(ssa, t), args);
      REQUIRE((plain.ok() && run.ok()));
      CHECK(plain->trap);
      CHECK(run->trap);
    }
  }
}

}  // namespace pullback::testing
