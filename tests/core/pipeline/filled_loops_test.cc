// Loops that fill arrays: statements, where no turn needs another one, and the same as loops.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/eval/interpreter.h"
#include "core/opt/simplify.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"
#include "tests/support/random_fills.h"
#include "tests/support/settings.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// Some row for each of the first.
Tensor Rows(int64_t n) {
  std::vector<int64_t> rows;
  for (int64_t k = 0; k < n; ++k) rows.push_back((5 * k + 2) % n);
  return Tensor::Of<int64_t>(DType::kI64, {n}, rows);
}

std::vector<Tensor> FillArgs(int64_t n) {
  Tensor v = Waves(3, 1, 3.5);
  v.shape = {3};
  return {Waves(n, 2, 0.5), Waves(2, 3, 1.5), v, Rows(n)};
}

std::string WithHead(const std::string& body) {
  return "fn f(x: [n, d]f64, w: [d, h]f64, v: [h]f64, t: [n]i64) -> f64 {\n" + body + "}\n";
}

bool HasLoops(const ir::Module& m) { return m.Get(m.entry).blocks.size() > 1; }

struct Case {
  const char* body;
  bool loops;  // are left
};

const char* const kSum = "return sum i < n, j < h { z[i, j] * f64(2 * i + j) }\n";

}  // namespace

TEST_CASE("filled loops: turns that are apart are statements") {
  for (const Case& c : {
           Case{"for i < n { z[i] = x[i] @ w }", false},
           Case{"for i in 1..n { for j < h { z[i, j] = x[i - 1, 0] * v[j] } }", false},
           Case{"for i < n - 1 { for j < h { z[i + 1, j] = x[i, 0] * v[j] } }", false},
           Case{"for i < n { z[n - 1 - i] = x[i] @ w }", false},
           Case{"for i < n { for j < i { z[i, j % h] = 1.0 } }", true},
           Case{"for i < n { for j < h { if j < i { z[i, j] = x[i, 0] } } }", false},
           Case{"for i < n { for k < d { for j < h { z[i, j] += x[i, k] * w[k, j] } } }", false},
           Case{"for i < n { for q in i..n { z[i, 0] += x[q, 0] } }", false},
           Case{"for i < n { for q < i + 1 { z[i, 1] = z[i, 1] - x[q, 0] } }", false},
           Case{"for i < n { z[t[i]] = x[i] @ w }", true},
           Case{"for i < n { z[t[i], 0] += x[i, 0] }", false},
           // Other turns' elements, or older ones.
           Case{"for i in 1..n { z[i, 0] = sin(z[i - 1, 0] + 1.0) }", true},
           Case{"for i < n - 1 { z[i, 0] = z[i + 1, 0] + x[i, 0]; z[i + 1, 1] = 1.0 }", true},
           Case{"for i < n { z[0, 0] = x[i, 0] }", true},
           Case{"for i < n { for j < h { z[i, j] = z[i, max(j - 1, 0)] + 1.0 } }", true},
           Case{"for i < n { let old = z\n z[i, 0] = x[i, 0]; z[i, 1] = old[i, 0] + 1.0 }", true},
           Case{"for i < n { for k < d { z[i, 0] = x[i, k] } }", true},
           Case{"for i < n { let q = z[i, 0] + x[i, 0]\n for k < d { z[i, 0] = q } }", true},
           // What was stored in the same turn.
           Case{"for i < n { z[i, 0] = x[i, 0]; z[i, 1] = z[i, 0] + z[i, 2] }", false},
           Case{"for i < n { for j < h { z[i, j] = x[i, 0]\n z[i, j] = z[i, j] * v[j] } }", false},
       }) {
    const std::string text =
        WithHead("  var z = zeros(n, h)\n  " + std::string(c.body) + "\n  " + kSum);
    INFO(text);
    const ir::Module ssa = LowerText(text, "f"), value = Derived(ssa, Transform::kValue);
    CHECK(HasLoops(value) == c.loops);
    for (const int64_t n : {1, 2, 5, 17}) {
      CheckSameOptimised(ssa, Transform::kValue, FillArgs(n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, FillArgs(n));
    }
    CheckDerivatives(ssa, FillArgs(4));
  }
}

TEST_CASE("filled loops: what is out of range is told as it is by loops") {
  for (const char* const body : {
           "var z = zeros(n - 3, h)\n  for i < n - 3 { z[i] = x[i] @ w }\n"
           "  return sum(z)\n",
           "var z = zeros(n, h)\n  for i < n { z[i + 2, 0] = x[i, 0] }\n  return sum(z)\n",
           "var z = zeros(n, h)\n  for i < n { z[i] = v\n z[i, 3] += 1.0 }\n  return sum(z)\n",
           "var z = zeros(n, h)\n  for i < n { for j < h { z[i, j] = x[i + 3, 0] } }\n"
           "  return sum(z)\n",
           "var z = zeros(n, h)\n  for i in 2..n { for j < h { z[i, j] = x[i - 3, 0] } }\n"
           "  return sum(z)\n",
       }) {
    const std::string text = WithHead("  " + std::string(body));
    INFO(text);
    const ir::Module ssa = LowerText(text, "f"), value = Derived(ssa, Transform::kValue);
    CHECK_FALSE(HasLoops(value));
    int traps = 0;
    for (const int64_t n : {0, 1, 2, 3, 6}) {
      INFO("n = " << n);
      traps += CheckSameTrap(value, ssa, FillArgs(n)) ? 1 : 0;
    }
    CHECK(traps > 0);
  }
}

TEST_CASE("filled loops: random ones") {
  const uint32_t first = Setting("PULLBACK_FILLS_SEED", 1);
  const uint32_t count = Setting("PULLBACK_FILLS_COUNT", RandomCount(150));
  int filled = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const std::string text = RandomFillsProgram(seed);
    INFO("seed " << seed << "\n" << text);
    const ir::Module ssa = LowerText(text, "f");
    filled += HasLoops(Derived(ssa, Transform::kValue)) ? 0 : 1;
    for (const int64_t n : {1, 2, 5, 18}) {
      INFO("n = " << n);
      CheckSameOptimised(ssa, Transform::kValue, FillArgs(n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, FillArgs(n));
    }
  }
  WARN(filled << " of " << count << " programs have no loops left");
}

}  // namespace pullback::testing
