// Arrays of which nothing but single rows is read: these alone are made.
#include <catch2/catch.hpp>

#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// Statements that make a row for each of a parameter's rows.
int CountOverRows(const ir::Module& m, size_t axis) {
  const ir::Function& f = m.Get(m.entry);
  ir::Value rows;
  int count = 0;
  for (const ir::Block& b : f.blocks) {
    for (const ir::Inst& inst : b.insts) {
      if (inst.op == ir::Op::Dim && inst.args[0] == f.params()[0] && inst.bits == axis)
        rows = inst.results[0];
      for (size_t k = 0; inst.each && k < inst.each->indices.size(); ++k)
        count += inst.each->indices[k].extent == rows ? 1 : 0;
    }
  }
  return count;
}

TEST_CASE("alone rows: of a matrix") {
  for (const char* body :
       {"norm2(z[0])", "dot(z[n - 1], z[0])", "norm2(z[k])", "norm2(z[n - 1] - z[n - 2])",
        "sum l < s { max(z[0, l], z[n - 1, l]) ** 2 }", "norm2(tanh.(z @ u)[n - 1])",
        "logsumexp(z[k] @ u)", "sum q < 3 { f64(q) * z[q, 0] ** 2 }", "norm2(cumsum(z[k]))",
        "z[k, 0] * z[0, k]"}) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, s]f64, u: [s, s]f64, k: i64) -> f64 {\n"
        "  let z = tanh.(x @ w)\n  return " +
        std::string(body) + "\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    const std::vector<bool> wrt = {true, true, true, false};
    const ir::Module value = Derived(ssa, Transform::kValue);
    CHECK(CountOverRows(value, 0) == 0);
    const auto args = [](int64_t n, int64_t k) {
      return std::vector<Tensor>{Waves(n, 2, 0.5), Waves(2, 3, 1.5), Waves(3, 3, 0.7),
                                 Tensor::I64(k)};
    };
    for (const int64_t n : {0, 1, 2, 3, 5}) {
      for (const int64_t k : {-1, 0, 1, 2, 5}) {
        INFO("n = " << n << ", k = " << k);
        if (CheckSameTrap(value, ssa, args(n, k))) continue;
        CheckSameOptimised(ssa, Transform::kValue, args(n, k));
        CheckSameOptimised(ssa, Transform::kValueAndGrad, args(n, k));
      }
    }
    CheckDerivatives(ssa, args(4, 1), 1e-5, wrt);
  }
}

TEST_CASE("alone rows: the last, or the first, ones") {
  for (const char* body :
       {"sum i < 12 { norm2(z[n - 12 + i]) ** 2 }", "sum i < 12 { sin(dot(z[n - 12 + i], u[0])) }",
        "sum i < 10 { norm(z[i]) }",  // that the last one is there is not known in front
        "sum i < 10 { z[n - 1 - i, 0] ** 3 }", "sum i < 9 { logsumexp(z[n - 10 + i]) }",
        "sum i < 9 { norm2(z[n - 10 + i] - z[n - 10 + i, 0]) }",
        "sum i < 4, j < 3 { z[n - 12 + 3 * i + j, j] ** 2 }"}) {
    const std::string text =
        "fn f(x: [n, d]f64, w: [d, s]f64, u: [s, s]f64) -> f64 {\n  let z = tanh.(x @ w)\n  "
        "return " +
        std::string(body) + "\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    const ir::Module value = Derived(ssa, Transform::kValue);
    const bool is_asked = text.find("i < 10") == text.npos;
    CHECK((CountOverRows(value, 0) == 0) == is_asked);
    const auto args = [](int64_t n) {
      return std::vector<Tensor>{Waves(n, 2, 0.5), Waves(2, 3, 1.5), Waves(3, 3, 0.7)};
    };
    for (const int64_t n : {0, 1, 8, 9, 10, 11, 12, 13, 30}) {
      INFO("n = " << n);
      if (CheckSameTrap(value, ssa, args(n))) continue;
      CheckSameOptimised(ssa, Transform::kValue, args(n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args(n));
    }
    CheckDerivatives(ssa, args(14));
  }
}

TEST_CASE("alone rows: of each sequence of a batch") {
  for (const char* body :
       {"norm2(z[c, 0])", "norm2(z[c, t - 1])", "dot(z[c, t - 1], v)", "logsumexp(z[c, 1])"}) {
    const std::string text =
        "fn f(x: [b, t, d]f64, w: [d, s]f64, v: [s]f64) -> f64 {\n"
        "  let z = gen c < b { tanh.(x[c] @ w) }\n  return sum c < b { sin(" +
        std::string(body) + ") }\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    const ir::Module value = Derived(ssa, Transform::kValue);
    CHECK(CountOverRows(value, 1) == 0);
    const auto args = [](int64_t b, int64_t t) {
      Tensor x = Waves(b * t, 2, 0.5), v = Waves(3, 1, 0.7);
      x.shape = {b, t, 2};
      v.shape = {3};
      return std::vector<Tensor>{x, Waves(2, 3, 1.5), v};
    };
    for (const int64_t b : {0, 1, 3}) {
      for (const int64_t t : {0, 1, 2, 4}) {
        INFO("b = " << b << ", t = " << t);
        if (CheckSameTrap(value, ssa, args(b, t))) continue;
        CheckSameOptimised(ssa, Transform::kValue, args(b, t));
        CheckSameOptimised(ssa, Transform::kValueAndGrad, args(b, t));
      }
    }
    CheckDerivatives(ssa, args(2, 3));
  }
}

}  // namespace
}  // namespace pullback::testing
