// Arrays that loops fill a row in each turn and that are read row by row: nobody holds them, and all is as if somebody did.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/eval/interpreter.h"
#include "core/opt/simplify.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"
#include "tests/support/random_streams.h"
#include "tests/support/settings.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Tensor> RowArgs(int64_t n) {
  std::vector<int64_t> rows;
  for (int64_t k = 0; k < n; ++k) rows.push_back((5 * k + 2) % n);
  Tensor v = Waves(3, 1, 3.5);
  v.shape = {3};
  return {Waves(n, 2, 0.5), Waves(2, 3, 1.5), v, Tensor::Of<int64_t>(DType::kI64, {n}, rows)};
}

ir::Module LoweredRows(const std::string& body) {
  return LowerText(
      "fn f(x: [n, d]f64, w: [d, h]f64, v: [h]f64, t: [n]i64) -> f64 {\n" + body + "}\n", "f");
}

// That turns hand on.
bool HoldsMatrix(const ir::Module& m) {
  const ir::Function& f = m.Get(m.entry);
  for (size_t b = 1; b < f.blocks.size(); ++b) {
    for (ir::Value v : f.blocks[b].params) {
      if (f.TypeOf(v).IsArray() && f.TypeOf(v).rank == 2) return true;
    }
  }
  return false;
}

void CheckSizes(const ir::Module& ssa) {
  for (const int64_t n : {1, 2, 3, 7, 18}) {
    INFO("n = " << n);
    CheckSameOptimised(ssa, Transform::kValue, RowArgs(n));
    CheckSameOptimised(ssa, Transform::kValueAndGrad, RowArgs(n));
  }
}

struct RowsCase {
  const char* body;
  bool holds;
};

const char* const kAsManyRows = "var z = zeros(n, h)\n";
const char* const kOneMoreRow = "var z = zeros(n + 1, h)\n";
const char* const kRowNorms = "return sum i < n { norm(z[i] + 0.1) }\n";

}  // namespace

TEST_CASE("streamed rows: what a turn stores") {
  for (const RowsCase& c : {
           RowsCase{"for i in 1..n { z[i] = x[i] @ w + 0.5 * z[i - 1] }", false},
           RowsCase{"var s = v\n for i < n { s = sin.(s) * x[i, 0]\n z[i] = s }", false},
           RowsCase{"for i in 2..n { z[i] = x[i] @ w + z[i - 1] * z[i - 2] }", false},
           RowsCase{"for i in 4..n { z[i] = v + 0.5 * z[i - 4] }", false},
           RowsCase{"for i in 16..n { z[i] = v + 0.5 * z[i - 16] }", false},
           RowsCase{"for i in 17..n { z[i] = v + 0.5 * z[i - 17] }", true},
           RowsCase{"for i < n { if i == 0 { z[0] = v } else { z[i] = 0.5 * z[i - 1] } }", false},
           RowsCase{"for i in 1..n { for j in 1..h { z[i, j] = z[i, j - 1] + z[i - 1, j] } }",
                    false},
           RowsCase{
               "for i in 1..n { for j < h { if x[i, 0] > v[j] { z[i, j] = z[i - 1, j] + 1.0 } } }",
               false},
           RowsCase{"for i in 1..n { if x[i, 0] > 0.0 { z[i] = z[i - 1] + v } }", false},
           RowsCase{
               "for i in 1..n { var c = 0.1\n while c < x[i, 1] { c = 2.0 * c }\n z[i] = c * v + "
               "z[i - 1] }",
               false},
           RowsCase{"for k < n - 1 { let i = n - 2 - k\n z[i] = x[i, 0] * v - 0.5 * z[i + 1] }",
                    false},
           RowsCase{"for i in 1..n { z[i] = v + z[t[i]] }", true},
           RowsCase{"for i in 1..n { z[i] = v + z[i - 1]\n z[i - 1, 0] = 3.0 }", true},
           RowsCase{"for i in 1..n { z[i] = v + z[i - 1]\n z[0] = z[i] }", true},
           RowsCase{"for i in 1..n - 1 { z[i] = v + z[i - 1] * z[i + 1] }", true},
           RowsCase{"for i in 1..n { z[i] = v + z[i - 1]\n if z[i, 0] > 9.0 { break } }", true},
       }) {
    INFO(c.body);
    const ir::Module ssa = LoweredRows(kAsManyRows + std::string(c.body) + "\n" + kRowNorms);
    CheckSizes(ssa);
    CHECK(HoldsMatrix(Derived(ssa, Transform::kValue)) == c.holds);
  }
}

TEST_CASE("streamed rows: what is behind the loop") {
  for (const RowsCase& c : {
           RowsCase{"return norm2(z[n])", false},
           RowsCase{"return norm2(z[n - 1]) + sum(z[n])", false},
           RowsCase{"return norm2(z[0])", false},
           RowsCase{"return norm2(z[n / 2])", false},
           RowsCase{"return sum i in n / 2..n { norm2(z[i]) }", false},
           RowsCase{"return max(z) + sum j < h { min i < n { z[i, j] } }", false},
           RowsCase{"let o = gen i < n + 1 { dot(z[i], v) }\n return sum i < n { (o[i + 1] - x[i, "
                    "0]) ** 2 }",
                    false},
           RowsCase{"return sum i < n + 1 { norm2(z[i]) }", false},
           RowsCase{"return sum i < n { norm2(z[i + 1] - z[i]) * x[i, 0] }", false},
           RowsCase{"return sum i in 1..n { norm2(z[i - 1] * z[i + 1]) }", false},
           RowsCase{"return max i < n { dot(z[i], v) }", false},
           RowsCase{
               "let p = gen i < n { dot(z[i], v) }\n return sum i < n { (p[i] - sum(p)) ** 2 }",
               false},
           RowsCase{"return sum i < n { dot(softmax(z[i]), cumsum(z[i])) }", false},
           RowsCase{"return sum i < n { dot(softmax(z[i]), cumsum(z[i + 1])) }", true},
           RowsCase{"let m = sum i < n { z[i] }\n return norm2(m)", false},
           RowsCase{"let m = sum i < n { z[i] }\n return sum i < n { norm2(z[i] - m) }", true},
           RowsCase{"return sum j < h { norm(gen i < n { z[i, j] + 0.1 }) }", false},
           RowsCase{"return sum i < n { norm2(z[t[i]]) }", true},
           RowsCase{"return sum i < n { dot(z[i], z[n - i]) }", true},
           RowsCase{"if x[0, 0] > 0.0 { return sum i < n { norm2(z[i]) } }\n return 0.0", true},
           RowsCase{"var b = v\n for i < n { b = 0.5 * b + z[i] * z[i + 1] }\n return norm2(b)",
                    false},
           RowsCase{"var b = v\n for i < n { b = 0.5 * b + z[n - i] }\n return norm2(b)", true},
           RowsCase{"return sum i < n - 1 { norm(sum k < 3 { z[i + k] }) }", false},
           RowsCase{"return sum i < n - 1, k < 3 { dot(z[i + k], v) * f64(k) }", true},
           RowsCase{
               "var q = zeros(n, h)\n for i in 1..n { q[i] = sin.(q[i - 1] + v) }\n return sum i < "
               "n { dot(z[i], q[i]) }",
               false},
           RowsCase{"var q = zeros(n + 1, h)\n for k < n { let i = n - 1 - k\n q[i] = sin.(q[i + "
                    "1] + v) "
                    "}\n return sum i < n { dot(z[i], q[i]) }",
                    true},
       }) {
    INFO(c.body);
    const ir::Module ssa = LoweredRows(
        kOneMoreRow + std::string("for i < n { z[i + 1] = tanh.(x[i] @ w + 0.5 * z[i]) }\n") +
        c.body + "\n");
    CheckSizes(ssa);
    CHECK(HoldsMatrix(Derived(ssa, Transform::kValue)) == c.holds);
  }
}

TEST_CASE("streamed rows: rows that no turn makes, turns whose rows nobody reads") {
  for (const char* body : {
           "var z = gen i < n + 2, j < h { f64(i + j) }\n for i in 2..n { z[i] = z[i - 1] + v }\n "
           "return sum i < n + 2 { norm(z[i]) }",
           "var z = gen i < n + 2, j < h { f64(i + j) }\n for k < n { let i = n - k\n z[i] = z[i + "
           "1] + v }\n return sum i < n + 2 { norm(z[i]) }",
           "var z = gen i < n + 2, j < h { f64(i + j) }\n for i in 1..n { z[i] = z[i - 1] + v }\n "
           "return sum i < n / 2 { norm(z[i]) }",
           "var z = gen i < n + 2, j < h { f64(i + j) }\n for i in 3..t[0] { z[i] = z[i - 1] + v "
           "}\n return sum i < n + 2 { norm(z[i]) }",
           "var z = gen i < n + 2, j < h { f64(i + j) }\n for i in 3..t[0] { z[i] = z[i - 1] + v "
           "}\n return norm(z[n + 1]) + norm(z[2])",
           "var z = gen i < n + 2, j < h { f64(i + j) }\n for i in 3..n { z[i] = z[i - 1] + v "
           "}\n return norm(z[n - 1])",
           "var z = zeros(n, h)\n z[n - 1] = x[0, 0] * v\n for k in 1..n { let i = n - 1 - k\n "
           "z[i] = "
           "0.5 * z[i + 1] + v }\n return sum i < n { norm2(z[i]) }",
           "var z = zeros(n, h)\n z[t[0]] = x[0, 0] * v\n for i in 1..n { z[i] = z[i] + 0.5 * z[i "
           "- 1] "
           "}\n return sum i < n { norm2(z[i]) }",
       }) {
    INFO(body);
    CheckSizes(LoweredRows(std::string(body) + "\n"));
  }
}

TEST_CASE("streamed rows: columns, and steps of a batch") {
  for (const RowsCase& c : {
           RowsCase{
               "var z = zeros(h, n)\n for i in 1..n { for j < h { z[j, i] = x[i, 0] * v[j] + 0.5 * "
               "z[j, i - 1] } }\n return sum j < h { z[j, n - 1] * z[j, n - 1] }",
               false},
           RowsCase{
               "var z = zeros(h, n)\n for i in 1..n { for j < h { z[j, i] = x[i, 0] * v[j] + 0.5 * "
               "z[j, i - 1] } }\n let p = gen j < h, i < n { exp(0.1 * z[j, i]) }\n return sum j "
               "< h, i < n { p[j, i] } + max(z)",
               false},
           RowsCase{
               "var z = zeros(2, n + 1, h)\n for i < n { for q < 2 { z[q, i + 1] = tanh.(x[i] @ w "
               "+ 0.5 * z[q, i]) } }\n return sum q < 2, i < n { norm2(z[q, i + 1]) * f64(q) }",
               true /* that of a step */},
           RowsCase{
               "var z = zeros(h, n)\n for i in 1..n { for j in 1..h { z[j, i] = z[j - 1, i] + z[j, "
               "i - 1] + x[i, 0] } }\n return sum j < h { dot(z[j], z[h - 1 - j]) }",
               false},
       }) {
    INFO(c.body);
    const ir::Module ssa = LoweredRows(std::string(c.body) + "\n");
    CheckSizes(ssa);
    CHECK(HoldsMatrix(Derived(ssa, Transform::kValue)) == c.holds);
  }
}

TEST_CASE("streamed rows: bools of rows, which are guards") {
  CheckSizes(LoweredRows(
      std::string(kAsManyRows) +
      "for i in 1..n { for j < h { z[i, j] = sin(x[i, 0] + z[i - 1, j]) } }\n let q = gen i < n { "
      "z[i, 0] > 0.0 }\n return sum i < n { if q[i] { x[i, 0] } else { 2.0 } }\n"));
}

TEST_CASE("streamed rows: a stored row that some turn does not have") {
  CheckSizes(LoweredRows(
      "var z = gen i < n, j < h { x[i, 0] }\n for i < n { if i + 1 < n { for j < h { z[i + 1, j] = "
      "0.5 * z[i, j] + v[j] } } }\n return sum i < n { norm2(z[i]) }\n"));
}

TEST_CASE("streamed rows: errors") {
  for (const char* body : {
           "var z = zeros(n, h)\n for i in 1..n + 1 { z[i] = z[i - 1] + v }\n return norm(z[0])",
           "var z = zeros(n, h)\n for i < n { z[i] = z[i - 1] + v }\n return norm(z[n - 1])",
           "var z = zeros(n, h)\n for i in 1..n { z[i] = z[i - 1] + v }\n return norm(z[n])",
           "var z = zeros(n, h)\n for i in 1..n { z[i, t[i] + 1] = z[i - 1, 0] + v[0] }\n return "
           "sum i < n { norm(z[i]) }",
           "var z = zeros(n, h)\n for i in 1..n { z[i] = z[i - 1] + v }\n return sum i < n { z[i, "
           "i] }",
           "var z = zeros(n, h)\n for i in 1..n { z[i] = z[i - 1] + v }\n return sum i < n + 1 { "
           "z[i, 0] }",
           "var z = zeros(n, h)\n for i in 1..n { z[i] = z[i - 1] + v }\n return sum i in 3..n { "
           "z[i, 0] }",
           "var z = zeros(n - 3, h)\n for i in 1..n - 3 { z[i] = z[i - 1] + v }\n return sum i < n "
           "- "
           "3 { z[i, 0] }",
       }) {
    INFO(body);
    const ir::Module ssa = LoweredRows(std::string(body) + "\n");
    const ir::Module value = Derived(ssa, Transform::kValue);
    int traps = 0;
    for (const int64_t n : {1, 2, 5}) traps += CheckSameTrap(value, ssa, RowArgs(n)) ? 1 : 0;
    CHECK(traps > 0);
  }
}

TEST_CASE("streamed rows: random ones") {
  const uint32_t first = Setting("PULLBACK_STREAMS_SEED", 1);
  const uint32_t count = Setting("PULLBACK_STREAMS_COUNT", RandomCount(150));
  uint32_t held = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const std::string text = RandomStreamsProgram(seed);
    INFO("seed " << seed << "\n" << text);
    const ir::Module ssa = LowerText(text, "f");
    held += HoldsMatrix(Derived(ssa, Transform::kValue)) ? 1 : 0;
    for (const int64_t n : {2, 3, 5, 18}) {
      INFO("n = " << n);
      CheckSameOptimised(ssa, Transform::kValue, RowArgs(n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, RowArgs(n));
    }
  }
  CHECK(held < count);
  WARN(count - held << " of " << count << " programs hold no table");
}

}  // namespace pullback::testing
