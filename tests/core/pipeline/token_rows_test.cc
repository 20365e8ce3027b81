// Rows with tokens in front of them, behind, or between sets: the same as unoptimised, in value and derivatives.
#include <catch2/catch.hpp>
#include <string>

#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Tensor> TokenArgs(int64_t n, int64_t d, int64_t h) {
  return {Waves(n, d, 0.5), Waves(d, h, 1.5), Waves(1, h, 2.5), Waves(h, 3, 0.25)};
}

std::string TokenProgram(const std::string& body) {
  return "fn f(x: [n, d]f64, w: [d, h]f64, s: [1, h]f64, u: [h, k]f64) -> f64 {\n"
         "  let t = s[0]\n" +
         body + "}\n";
}

const char* const kRows[] = {
    "gen i < n + 1 { if i == 0 { t } else { x[i - 1] @ w } }",
    "gen i < n + 1 { if i == 0 { t } else { tanh.(x[i - 1] @ w) } }",
    "gen i < n + 1 { if i < n { tanh.(x[i] @ w) } else { t } }",
    "gen i < n + 2 { if i == 0 { t } else { if i == n + 1 { 2.0 * t } else { x[i - 1] @ w } } }",
    "gen i < n + 2 { if i >= 1 and i <= n { x[i - 1] @ w } else { t } }",
    "gen i < n + 2 { if i < 2 { t } else { exp.(x[i - 2] @ w) } }",
};
const char* const kReads[] = {
    "sum i < dim(z, 0) { logsumexp(z[i] @ u) }",
    "sum i < dim(z, 0) { logsumexp(tanh.(z[i]) @ u) * f64(i) }",
    "sum i < dim(z, 0) - 1 { norm2(tanh.((z[i + 1] - z[i]) @ u)) }",
    "(sum i < dim(z, 0) { norm2(tanh.(z[i] @ u)) }) + norm2(z[0] @ u) * norm2(z[dim(z, 0) - 1])",
    "sum i < dim(z, 0) { norm2(sin.((z[i] + tanh.(z[i] * t)) @ u)) }",
    "sum i < dim(z, 0), j < dim(z, 0) { dot(z[i], z[j]) * norm2(z[0]) }",
};

void CheckSame(const ir::Module& ssa, const std::vector<Tensor>& args) {
  CheckSameOptimised(ssa, Transform::kValue, args);
  CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
}

}  // namespace

TEST_CASE("tokens: in front, behind, at either end, read in every way") {
  for (const char* rows : kRows) {
    for (const char* read : kReads) {
      const std::string text =
          TokenProgram("  let z = " + std::string(rows) + "\n  return " + read + "\n");
      INFO(text);
      const ir::Module ssa = LowerText(text, "f");
      for (int64_t n : {0, 1, 2, 19}) {
        INFO("n = " << n);
        CheckSame(ssa, TokenArgs(n, 2, 4));
      }
      CheckSame(ssa, TokenArgs(3, 0, 1));
      CheckDerivatives(ssa, TokenArgs(2, 2, 4));
    }
  }
}

TEST_CASE("tokens: derivatives by some of the parameters") {
  for (const char* rows : kRows) {
    const std::string text = TokenProgram("  let z = " + std::string(rows) + "\n  return " +
                                          std::string(kReads[0]) + "\n");
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    const std::vector<Tensor> args = TokenArgs(5, 2, 4);
    const std::vector<Tensor> all = RunOk(Derived(ssa, Transform::kValueAndGrad), args);
    for (size_t mask = 1; mask < 15; ++mask) {
      std::vector<bool> wrt;
      for (size_t p = 0; p < args.size(); ++p) wrt.push_back((mask >> p & 1) != 0);
      const auto staged = pipeline::Derive(ssa, Transform::kValueAndGrad, wrt, {});
      REQUIRE(staged.ok());
      const std::vector<Tensor> some = RunOk(staged->final, args);
      size_t next = 1;
      for (size_t p = 0; p < args.size(); ++p) {
        if (!wrt[p]) continue;
        const std::vector<double> got = Doubles(some[next++]), want = Doubles(all[1 + p]);
        REQUIRE(got.size() == want.size());
        for (size_t e = 0; e < got.size(); ++e)
          CHECK(got[e] == Approx(want[e]).epsilon(1e-11).margin(1e-13));
      }
    }
  }
}

TEST_CASE("tokens: in front of the rows of each set, and behind a branch") {
  const std::string sets =
      "fn f(x: [n, d]f64, w: [d, h]f64, t: [1, h]f64, u: [h, k]f64) -> f64 {\n"
      "  let z = gen b < 3, i < n + 1 { if i == 0 { t[0] } else { f64(b + 1) * (x[i - 1] @ w) } }\n"
      "  return sum b < 3, i < n + 1 { logsumexp(z[b, i] @ u) * f64(b + 2) }\n}\n";
  const std::string branch = TokenProgram(
      "  let z = gen i < n + 1 { if i == 0 { t } else { x[i - 1] @ w } }\n"
      "  let y = gen i < n + 1 { tanh.(z[i] @ u) }\n"
      "  let a = sum i < n + 1 { norm2(y[i]) }\n"
      "  let b = if a > 1.0 { norm2(y[0]) * a } else { logsumexp(y[n]) }\n"
      "  var r = 0.0\n  for j in 0..3 { r = sin(r + b * y[0, 1] + y[n, 0]) }\n"
      "  return a * b + r\n");
  for (const std::string& text : {sets, branch}) {
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    for (int64_t n : {0, 1, 2, 6}) CheckSame(ssa, TokenArgs(n, 2, 4));
    CheckDerivatives(ssa, TokenArgs(3, 2, 4));
  }
}

}  // namespace pullback::testing
