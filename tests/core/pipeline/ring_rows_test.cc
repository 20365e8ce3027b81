// Rows of a ring and rows that all turns take are made for these alone: the same as unoptimised, with the same errors.
#include <catch2/catch.hpp>
#include <string>

#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

constexpr const char* kLayer = "  let z = tanh.(x @ w)\n";

std::string RingProgram(const std::string& body) {
  return "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n" + std::string(kLayer) + body + "}\n";
}

// Statements that find a row of what is made by data.
int CountByData(const ir::Module& m) {
  int count = 0;
  for (const ir::Block& b : m.Get(m.entry).blocks) {
    for (const ir::Inst& inst : b.insts) {
      if (!inst.each) continue;
      for (const ir::Inst& part : inst.each->body)
        count += part.op == ir::Op::Rem || part.op == ir::Op::Select ? 1 : 0;
    }
  }
  return count;
}

// Products of one row of x with w.
int CountOfRows(const ir::Module& m) {
  const ir::Function& f = m.Get(m.entry);
  ir::Value columns;
  int count = 0;
  for (const ir::Inst& inst : f.blocks[0].insts) {
    if (inst.op == ir::Op::Dim && inst.args[0] == f.params()[1] && inst.bits == 1)
      columns = inst.results[0];
    if (!inst.each) continue;
    const ir::EachResult& r = inst.each->results[0];
    count += r.monoid == ir::Monoid::kSum && r.shape.size() == 1 && r.shape[0] == columns ? 1 : 0;
  }
  return count;
}

void CheckTextTrap(const std::string& text, const std::vector<Tensor>& args) {
  INFO(text);
  const ir::Module ssa = LowerText(text, "f");
  for (Transform t : {Transform::kValue, Transform::kValueAndGrad})
    CheckSameTrap(Derived(ssa, t), ssa, args);
}

const char* const kNext[] = {
    "(i + 1) % n",
    "if i + 1 == n { 0 } else { i + 1 }",
    "if i == n - 1 { 0 } else { i + 1 }",
    "if i < n - 1 { i + 1 } else { 0 }",
    "if i == n - 1 { n - 1 } else { i + 1 }",
};
const char* const kPrevious[] = {
    "(i + n - 1) % n",
    "(i - 1 + n) % n",
    "if i == 0 { n - 1 } else { i - 1 }",
    "if i > 0 { i - 1 } else { n - 1 }",
    "if i == 0 { 0 } else { i - 1 }",
};
// Of a, the row in front, and b, the one behind.
const char* const kTerms[] = {
    "    norm2(z[b] - z[i])\n",
    "    sqrt(1.0 + norm2(z[i] - z[a]))\n",
    "    exp(-norm2(z[b] - 2.0 * z[i] + z[a]))\n",
    "    dot(z[i], z[b]) / sqrt(0.1 + norm2(z[i]) * norm2(z[b]))\n",
    "    dot(z[b] - z[i], z[i] - z[a]) * sin(norm2(z[a]))\n",
    "    f64(i) * (sum l < h { z[b, l] * z[a, l] })\n",
};

std::vector<Tensor> Rows(int64_t n) { return {Waves(n, 3, 0.5), Waves(3, 2, 1.5)}; }

}  // namespace

TEST_CASE("rings: the next row and the one before") {
  for (const char* next : kNext) {
    for (const char* previous : kPrevious) {
      for (const char* term : kTerms) {
        const std::string text =
            RingProgram("  return sum i < n {\n    let b = " + std::string(next) +
                        "\n    let a = " + previous + "\n" + term + "  }\n");
        INFO(text);
        const ir::Module ssa = LowerText(text, "f");
        for (int64_t n : {0, 1, 2, 3, 7}) {
          INFO("n = " << n);
          CheckSameOptimised(ssa, Transform::kValue, Rows(n));
          CheckSameOptimised(ssa, Transform::kValueAndGrad, Rows(n));
        }
        CHECK(CountByData(Derived(ssa, Transform::kValue)) == 0);
      }
    }
  }
}

TEST_CASE("rings: derivatives, also second ones") {
  for (const char* term : kTerms) {
    const std::string text = RingProgram(
        "  return sum i < n {\n    let b = (i + 1) % n\n"
        "    let a = (i + n - 1) % n\n" +
        std::string(term) + "  }\n");
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    CheckDerivatives(ssa, Rows(4));
    CheckSameOptimised(ssa, Transform::kHessian, {Waves(3, 1, 0.5), Waves(1, 2, 1.5)});
  }
}

TEST_CASE("rings: of each set, in two arrays, and in what is read elsewhere") {
  for (const char* text :
       {"fn f(x: [b, n, d]f64, w: [d, h]f64) -> f64 {\n  return sum s < b {\n"
        "    let z = tanh.(x[s] @ w)\n    sum i < n { norm2(z[(i + 1) % n] - z[i]) }\n  }\n}\n",
        "fn f(x: [b, n, d]f64, w: [d, h]f64) -> f64 {\n  return sum s < b {\n"
        "    let z = tanh.(x[s] @ w)\n"
        "    let e = gen i < n { norm2(z[(i + 1) % n] - z[i]) }\n    e[0] * sum(e)\n  }\n}\n"}) {
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    for (int64_t n : {1, 2, 5}) {
      Tensor x = Waves(3 * n, 2, 0.5);
      x.shape = {3, n, 2};
      CheckSameOptimised(ssa, Transform::kValue, {x, Waves(2, 4, 1.5)});
      CheckSameOptimised(ssa, Transform::kValueAndGrad, {x, Waves(2, 4, 1.5)});
    }
  }
  for (const char* body :
       {"  let e = gen i < n { norm2(z[(i + 1) % n] - z[i]) }\n  return sum(e) / (1.0 + max(e))\n",
        "  let e = gen i < n { norm2(z[(i + 1) % n] - z[i]) }\n"
        "  return sum i < n { e[i] * e[(i + 1) % n] }\n",
        "  let e = gen i < n { dot(z[(i + 1) % n], z[i]) }\n  var t = 0.3\n"
        "  for i in 0..n { t = sin(t + e[i]) }\n  return t\n",
        "  let y = gen i < n { z[(i + 1) % n] - z[i] }\n  return sum(tanh.(y @ w.T) @ w)\n",
        "  return sum i < n, l < h { (z[(i + 1) % n, l] - z[i, (l + 1) % h])**2 }\n",
        "  return sum i < n { norm2(z[(i + 1) % n] - z[i] + z[0]) * z[n - 1, 0] }\n"}) {
    INFO(body);
    const ir::Module ssa = LowerText(RingProgram(body), "f");
    for (int64_t n : {1, 2, 5}) {
      CheckSameOptimised(ssa, Transform::kValue, Rows(n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, Rows(n));
    }
  }
}

TEST_CASE("rings: sums of sums, each of which something else reads, take no long search") {
  std::string text =
      "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n  let z = tanh.(x @ w)\n"
      "  let p0 = gen i < n { sum l < d { x[i, l] } }\n  let q0 = gen i < n { sum l < d { sin(x[i, "
      "l]) } }\n";
  std::string ends = "p0[0] + q0[n - 1]";
  const int layers = 30;
  for (int k = 1; k <= layers; ++k) {
    const std::string last = std::to_string(k - 1), next = std::to_string(k);
    text += "  let p" + next + " = gen i < n { sum l < d { sin(x[i, l] * p" + last + "[i] + q" +
            last + "[i]) } }\n  let q" + next + " = gen i < n { sum l < d { cos(x[i, l] * q" +
            last + "[i] + p" + last + "[i]) } }\n";
    ends += " + p" + next + "[0] + q" + next + "[n - 1]";
  }
  text += "  let s = sum i < n, l < h { z[(i + 1) % n, l] * z[i, l] * sin(p" +
          std::to_string(layers) + "[i] + q" + std::to_string(layers) + "[i]) }\n  return s + " +
          ends + "\n}\n";
  CheckSameOptimised(LowerText(text, "f"), Transform::kValue, Rows(4));
}

TEST_CASE("fixed rows: from the first row, both ends, a row that is asked for") {
  struct Case {
    const char* body;
    int rows;  // that are made once more
  };
  for (const Case& c : {
           Case{"  return sum i < n { norm2(z[i] - z[0]) }\n", 1},
           Case{"  return sum i < n { norm2(z[i] - z[n - 1]) }\n", 1},
           Case{"  return (sum i < n - 1 { norm2(z[i + 1] - z[i]) }) + norm2(z[0] - z[n - 1])\n",
                2},
           Case{"  return (sum i < n { norm2(z[i]) }) * dot(z[0], z[n - 1]) + z[0, 1]\n", 2},
           Case{"  return (sum i < n { log(1.0 + norm2(z[i])) }) * dot(z[1], z[n - 1])\n", 2},
           Case{"  let s = sum i < n - 2, l < h { let e = sum q < 3 { z[i + q, l] * f64(q + 1) }; "
                "e * e }\n"
                "  return s + norm2(z[0] - z[n - 1])\n",
                2},
           // Columns, which their rows have, and rows that are needed at once.
           Case{"  return sum i < n { logsumexp(z[i]) - z[i, 0] * z[i, 1] }\n", 0},
           Case{"  return sum i < n, j < n { exp(dot(z[i], z[j]) + dot(z[i], z[0])) }\n", 0},
       }) {
    INFO(c.body);
    const ir::Module ssa = LowerText(RingProgram(c.body), "f");
    CHECK(CountOfRows(Derived(ssa, Transform::kValue)) == c.rows);
    for (int64_t n : {2, 3, 6}) {
      CheckSameOptimised(ssa, Transform::kValue, Rows(n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, Rows(n));
    }
    CheckDerivatives(ssa, Rows(3));
  }
}

TEST_CASE("held rows: at both ends, at one, in windows, in front of the rows and behind") {
  for (const char* at :
       {"max(0, min(n - 1, i - 1))", "min(n - 1, max(0, i + 2))", "max(0, i - 2)",
        "min(i + 1, n - 1)", "max(0, min(n - 1, i + q - 1))", "max(0, min(n - 1, i + q + r - 3))",
        "max(0, min(n - 1, i + 9))", "max(1, min(n - 1, i + 1))", "max(0, min(n - 2, i - 1))"}) {
    for (const char* body :
         {"  return sum i < n, q < 3, r < 2, l < h { z[AT, l] * z[i, l] * f64(q + r + 1) }\n",
          "  return sum i < n { log(1.0 + sum q < 3, r < 2 { norm2(z[AT] - z[i]) }) }\n",
          "  return sum i < n { norm2(gen l < h { sum q < 3, r < 2 { sin(z[AT, l]) + z[0, l] } }) "
          "}\n"}) {
      std::string text = RingProgram(body);
      text.replace(text.find("AT"), 2, at);
      INFO(text);
      const ir::Module ssa = LowerText(text, "f");
      for (int64_t n : {0, 1, 2, 3, 19}) {
        const std::string where = at;
        const bool traps =
            (where.starts_with("max(1") && n == 1) || (where.find("n - 2") != where.npos && n == 1);
        if (traps) continue;
        CheckSameOptimised(ssa, Transform::kValue, Rows(n));
        CheckSameOptimised(ssa, Transform::kValueAndGrad, Rows(n));
      }
      CheckDerivatives(ssa, Rows(3));
    }
  }
  const std::string none = RingProgram(
      "  return (sum i < n { norm2(z[max(0, min(n - 1, i - 1))]) }) + z[max(0, min(n - 1, 1)), "
      "0]\n");
  for (int64_t n : {0, 1, 3}) CheckTextTrap(none, Rows(n));
}

TEST_CASE("fixed rows: one that is not there is the error that it was") {
  const std::string layer = kLayer;
  for (
      const char* body : {
          "  return (sum i < n { log(1.0 + norm2(z[i])) }) + sum l < h { z[0, l]**2 }\n",
          "  return (sum i < n { log(1.0 + norm2(z[i])) }) + sum l < h { z[n - 1, l]**2 }\n",
          "  return (sum i < n { log(1.0 + norm2(z[i])) }) + sum l < h { z[2, l] * z[0, l] }\n",
          "  return (sum i < n { log(1.0 + norm2(z[i])) }) + sum l < h { z[0, l] * z[2, l] }\n",
          "  return (sum i < n { log(1.0 + norm2(z[i])) }) + sum l < h + 1 { z[0, l] * z[2, l] }\n",
          "  return (sum i < n { log(1.0 + norm2(z[i])) }) + sum l < h + 1 { z[2, l] * z[3, l] }\n",
          "  return (sum i < n { log(1.0 + norm2(z[i])) }) + sum l < h, j < n { z[2, l]**2 }\n",
          "  return (sum i < n - 1 { norm2(z[i + 1] - z[i]) }) + norm2(z[0] - z[n - 1])\n",
          "  return sum i < n { norm2(z[i] - z[0]) + norm2(z[i] - z[1]) }\n",
          "  return sum i < n { norm2(z[i] - z[n - 3]) }\n",
          "  return sum i < n { norm2(z[(i + 1) % n] - z[i]) + z[i, i] }\n",
          "  return sum i < n { z[i, i] + norm2(z[(i + n - 1) % n]) }\n",
      }) {
    for (int64_t n : {0, 1, 2, 3}) {
      for (int64_t h : {0, 1, 2}) {
        for (int64_t d : {0, 2}) {
          INFO("n = " << n << ", h = " << h << ", d = " << d);
          CheckTextTrap(RingProgram(body), {Waves(n, d, 0.5), Waves(d, h, 1.5)});
        }
      }
    }
  }
  const std::string asked =
      "fn f(x: [n, d]f64, w: [d, h]f64, k: i64) -> f64 {\n" + layer +
      "  return (sum i < n { log(1.0 + norm2(z[i])) }) + sum l < h { z[k, l] * z[0, l] }\n}\n";
  for (int64_t k : {-9223372036854775807LL - 1, -1LL, 0LL, 2LL, 3LL, 9223372036854775807LL}) {
    const Tensor at = Tensor::Of(DType::kI64, {}, std::vector<int64_t>{k});
    for (int64_t n : {0, 3}) CheckTextTrap(asked, {Waves(n, 2, 0.5), Waves(2, 4, 1.5), at});
  }
}

}  // namespace pullback::testing
