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
           Case{"for i < n { for q in max(0, i - 2)..min(n, i + 3) { z[i, 0] += x[q, 0] } }",
                false},
           Case{"for i < n { for q in max(0, i - 1)..n { z[i, 1] += x[q, 0] } }", false},
           Case{"for i < n { for q in i..min(n, i + 2) { z[q, 1] += x[i, 0] } }", false},
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

// Programs that were wrong, of what turns hand on, read and reach.
TEST_CASE("filled loops: arrays that turn out not to be filled, and their readers") {
  for (
      const char* const body : {
          // Read by what is filled, before it is found that turns need each other.
          "var y = zeros(n)\n for i < n { y[i] = x[i, 0] * 2.0; z[i, 0] = y[n - 1 - i] }",
          "var y = zeros(n)\n for i < n { z[i, 1] = y[n - 1 - i]; y[i] = x[i, 0] }",
          "var y = zeros(n)\n for i < n { for k < d { y[i] += x[i, k]; z[i, k] = y[i] } }",
          "var y = zeros(n)\n for i < n { for k < d { y[i] = x[i, k] }\n z[i, 0] = y[i] }",
          "for i < n { var a = zeros(h)\n for k in 1..h { a[k] = a[k - 1] + v[k] * x[i, 0] }\n"
          " for k < h { z[i, k] += a[k] } }",
          "for i < n { var r = zeros(h)\n var a = 0.0\n"
          " for j < h { a += x[i, 0] * v[j]; r[j] = a }\n z[i] = r }",
          "for i < n { var r = x[i] @ w\n var m = 0.0\n for j < h { m = max(m, r[j]) }\n"
          " for j < h { r[j] = r[j] - m }\n z[i] = r }",
          "var y = zeros(n)\n for i < n { y[i] = x[i, 0]\n if y[n - 1] > 0.0 { z[i, 0] = 1.0 } }",
          // Older ones, handed on.
          "var old = zeros(n, h)\n for i < n { old = z; z[i, 0] = x[i, 0]; z[i, 1] = old[0, 0] }",
          "var old = zeros(n, h)\n for i < n { z[i, 0] = x[i, 0]\n if i == 1 { old = z } }\n"
          " z = old",
          "var best = zeros(n, h)\n var m = 0.0\n"
          " for i < n { z[i, 0] = x[i, 0]\n if x[i, 0] > m { m = x[i, 0]; best = z } }\n"
          " z = best",
          "var a = zeros(n, h)\n for i < n { z[i, 0] = x[i, 0]\n let q = a\n a = z\n z = q }",
          // Numbers of turns, where there is no turn.
          "for i < n { var a = 1.0\n for k < d { a += sum q < d { x[i, q] } }\n"
          " z[i, 0] = tanh(a) }",
          "for i < n - 1 { var a = 0.0\n for k < d { a += x[i, k] }\n z[i + 1, 0] = x[i, 0]\n"
          " z[i + 1, 0] += a }",
          // A condition of a loop around the one that is filled.
          "for i in 1..n { z[i, 0] = z[i - 1, 0] + 1.0\n let c = x[i, 0] > 0.0\n"
          " var r = zeros(h)\n for j < h { if c { r[j] = v[j] } }\n z[i, 1] = sum(r) }",
          "for i in 1..n { var a = z[i - 1, 0]\n for k < d { a = x[i, k] + a; a = a + 0.5 }\n"
          " z[i, 0] = a }",
          // Fewer turns than rows.
          "for i < n - 1 { for j < h { z[i, j] = x[i, 0] }\n for j < h { z[i, j] += v[j] } }",
          "for i in n / 2..n { for j < h { z[i, j] = x[i, 0] - x[i - n / 2, 1] } }",
          "for i < n { for q in i..min(n, i + 1) { z[q, 0] += x[i, 0] } }",
          // The order of extrema: the first of equal ones has all of the gradient.
          "for i < n { var m = 0.0\n for j < h { m = max(m, max(v[j] * x[i, 0], 0.0)) }\n"
          " z[i, 0] = m }",
          "for i < n { var m = -1.0e300\n for j < h { if abs(v[j]) > m { m = abs(v[j]) } }\n"
          " z[i, 0] = m * x[i, 0] }",
          "for i < n { var m = 0.3\n for j < h { if v[j] * x[i, 1] < m { m = v[j] * x[i, 1] } }\n"
          " z[i, 0] = m }",
          // Rows of earlier turns: of a loop that goes on, of what is stored from them, before and after they are stored.
          "var y = zeros(n)\n for i < n { z[i] = x[i] @ w\n"
          " if i > 0 { y[i] = sum(z[i - 1]) }\n z[i, 0] += y[i] }",
          "var s = 0.5\n for i in 1..n { z[i] = x[i] @ w; s = sin(s + z[i - 1, 0]); z[i, 1] += s }",
          "var y = zeros(n)\n for i in 1..n { y[i] = z[i - 1, 0]; z[i] = x[i] @ w }\n"
          " for i < n { z[i, 1] = y[i] }",
          "for i in 1..n { z[i, 0] = x[i, 0]; z[i, 1] = z[i - 1, 0] + z[i, 0] }",
          "for i < n { z[i] = v\n for k < d { z[i, k] += x[i, k]\n z[i, 2] += z[i, k] } }",
          // Numbers on the way, to which more is added.
          "for i < n { var a = 0.0\n for j < h { a += v[j]; z[i, j] = a; a += x[i, 0] } }",
          "for i < n { var a = 0.5\n for j < h { a -= x[i, 1]; a += v[j]; z[i, j] = a } }",
          "for i < n { var a = 0.0\n for j < h { z[i, j] = a; a += v[j] }\n z[i, 0] += a }",
          "for i < n { var a = 0.0\n for j < h { if a + v[j] > a { a += v[j] }\n z[i, j] = a } }",
          "for i < n { var a = 0\n for j < h { a += 2; z[i, j] = f64(a) * x[i, 0] } }",
          "var a = 0.0\n for i < n { a += x[i, 0]\n let q = a + x[i, 1]\n z[i, 0] = q * q }",
          "var a = 0.0\n for i < n { let q = a + x[i, 1]\n z[i, 0] = q * q\n a += x[i, 0] }",
          "var a = 0.0\n for i < n { a += x[i, 0]; z[i, 0] = a; a = a * 0.5 }",
          "var a = 0.0\n for i < n { a += x[i, 0]; z[i, 0] = a\n if x[i, 1] > 0.0 { a = 0.0 } }",
          "var a = 0.0\n for i < n { a += x[i, 0]; z[i, 0] = a; a = max(a, x[i, 1]) }",
          "var a = 0.0\n for i < n { a += x[i, 0]; z[i, 0] = a\n for k < d { a += x[i, k] } }",
          "var a = 0\n for i < n { a += 1\n let q = a + 2\n z[i, 0] = x[i, 0] * f64(q * q) }",
          "var q = 0\n for i < n { z[i, 0] = x[i, 0] * x[q, 1]; q = i }",
          "var a = 0.0\n var b = 0.0\n for i < n { a += x[i, 0]; b -= x[i, 1]; z[i, 0] = a * b\n"
          " let q = a\n a = b\n b = q }",
          "var a = 0.0\n for i < n { a -= 0.1\n if (a + v[0]) > z[i, 0] { z[i, 0] = (a + v[0]) } }",
          // Tables of what is the same for all.
          "let b = n > 2\n var m = gen u < n { false }\n for i < n { m[i] = b }\n"
          " for i < n { z[i, 0] = if m[i] { x[i, 0] } else { 0.0 } }",
          "let b = n > 2\n let m = gen u < n { b }\n for i < n { z[i, 0] = [m[i]] * x[i, 0] }",
          // Next to each other.
          "var y = zeros(2 * n)\n for i < n { y[2 * i] = x[i, 0]; y[2 * i + 1] = x[i, 1] }\n"
          " for i < n { z[i, 0] = y[i] }",
          "var y = zeros(3 * n)\n for i < n { y[3 * i + 1] = x[i, 0]; y[3 * i] = y[3 * i + 1] }\n"
          " for i < n { y[3 * i + 2] = 1.0 }\n for i < n { z[i, 0] = y[n + i] }",
          "var y = zeros(2 * n)\n for i < n { y[2 * i] = x[i, 0]; y[i] = x[i, 1] }\n"
          " for i < n { z[i, 0] = y[i] }",
          // Two that add up in one turn, and elements of the diagonal.
          "for i < n { for k < d { z[i, 0] += x[i, k]; z[i, 0] -= 0.5 * x[i, k] } }",
          "for i < n { for j < h { if i == j { z[i, j] = 1.0 } else { z[i, j] = x[i, 0] } } }",
          "for i < n { for j < h { z[i, j] = v[j]\n if i == j { z[i, j] -= x[i, 0] } } }",
          "for i < n { if i == 0 { z[i] = v } else { z[i] = x[i - 1] @ w } }",
          "for i < n { var a = x[i, 0]\n for j < h { a += v[j]; z[i, j] = a } }",
          "for i < n { z[i, 0] = -0.0 * x[i, 0]; z[i, 1] += 0.0 * x[i, 0] }",
      }) {
    const std::string text =
        WithHead("  var z = zeros(n, h)\n  " + std::string(body) + "\n  " + kSum);
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    for (const int64_t n : {1, 2, 3, 17}) {
      INFO("n = " << n);
      CheckSameOptimised(ssa, Transform::kValue, FillArgs(n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, FillArgs(n));
    }
  }
}

// What is added up from arrays that are filled, in loops, by rows and columns.
TEST_CASE("filled loops: sums over what was filled are statements") {
  for (const char* const body : {
           "for i < n { for j < h { s += z[i, j] * z[i, j] } }",
           "for j < h { var c = 0.0\n for i < n { c += z[i, j] }\n s += c * c }",
           "for j < h { s += norm(z[:, j] + 0.1) }",
           "for i < n { for j < h { s += z[i, j] } }\n for i < n { for j < h { s -= sin(z[i, j]) } "
           "}",
           "for i < n { var q = 1.0e300\n for j < h { q = min(q, z[i, j]) }\n s += q }",
       }) {
    const std::string text = WithHead(
        "  var z = zeros(n, h)\n  for i < n { z[i] = tanh.(x[i] @ w) }\n  var s = 0.5\n  " +
        std::string(body) + "\n  return s\n");
    INFO(text);
    const ir::Module ssa = LowerText(text, "f"), value = Derived(ssa, Transform::kValue);
    CHECK_FALSE(HasLoops(value));
    for (const int64_t n : {0, 1, 2, 17}) {
      CheckSameOptimised(ssa, Transform::kValue, FillArgs(n));
      if (n > 0) CheckSameOptimised(ssa, Transform::kValueAndGrad, FillArgs(n));
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
