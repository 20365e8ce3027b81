// Rows that the ends of an axis have of their own, by conditions: the same as unoptimised, in value, derivatives and errors.
#include <catch2/catch.hpp>
#include <string>

#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Tensor> EndArgs(int64_t n) {
  return {Waves(n, 2, 0.5), Waves(2, 4, 1.5), Waves(4, 3, 0.25)};
}

struct Ends {
  const char* rows;  // of z, which has n
  const char* count;
  int64_t fewest;  // that z may have; with fewer the first point reads what is not there
};
const Ends kEnds[] = {
    {"if i < 1 { z[0] } else { if i > n { z[n - 1] } else { z[i - 1] } }", "n + 2", 1},
    {"if i == n + 1 { z[n - 1] } else { if i == 0 { z[0] } else { z[i - 1] } }", "n + 2", 1},
    {"if i == 0 { z[1] } else { if i == n + 1 { z[n - 2] } else { z[i - 1] } }", "n + 2", 2},
    {"if i == 0 { z[1] - z[0] } else { if i == n - 1 { z[n - 1] - z[n - 2] } else { (z[i + 1] - "
     "z[i "
     "- 1]) * 0.5 } }",
     "n", 2},
    {"if i == n - 1 { z[n - 1] - z[n - 2] } else { if i == 0 { z[1] - z[0] } else { z[i + 1] - z[i "
     "- 1] "
     "} }",
     "n", 2},
    {"if not (i >= 1) { z[0] } else { z[i - 1] }", "n + 1", 1},
    {"if i < 2 { z[0] * z[1] } else { z[i - 2] }", "n + 2", 2},
    {"if i == 0 { z[n - 2] } else { z[i - 1] * 2.0 }", "n + 1", 2},
};
const char* const kEndBodies[] = {
    "  return sum i < COUNT { logsumexp(p[i] @ u) }\n",
    "  return sum i < max(0, COUNT - 2) { norm2((p[i] + p[i + 1] - p[i + 2]) @ u) }\n",
    "  return (sum i < COUNT, l < h { sin(p[i, l]) * u[l, 0] }) + sum i < n { norm2(z[i]) }\n",
    "  var s = 0.1\n  for i < COUNT { s = sin(s + sum(p[i] @ u)) * sum(p[0]) }\n  return s\n",
};
const char* const kLoops[] = {
    "    let g = if i == 0 { z[1] - z[0] } else { z[i] - z[i - 1] }\n    s = sin(s + sum(g @ u))\n",
    "    let g = if i == 0 { z[1] - z[0] } else { if i == n - 1 { z[n - 1] - z[n - 2] } else { z[i "
    "+ 1] "
    "- z[i - 1] } }\n    s = sin(s + sum(g @ u))\n",
    "    s = sin(s + dot(z[i], z[0]) + dot(z[i], z[n - 1]))\n",
    "    if sum(z[i]) > 0.1 { s += logsumexp(z[n - 1]) }\n    s = sin(s + norm2(z[i] - z[0]))\n",
};

std::string EndProgram(const Ends& ends, std::string body) {
  for (size_t at; (at = body.find("COUNT")) != std::string::npos;)
    body.replace(at, 5, std::string("(") + ends.count + ")");
  return "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, k]f64) -> f64 {\n  let z = tanh.(x @ w)\n"
         "  let p = gen i < " +
         std::string(ends.count) + " { " + ends.rows + " }\n" + body + "}\n";
}

}  // namespace

TEST_CASE("end rows: repeated, mirrored, one-sided") {
  for (const Ends& ends : kEnds) {
    for (const char* body : kEndBodies) {
      const std::string text = EndProgram(ends, body);
      INFO(text);
      const ir::Module ssa = LowerText(text, "f");
      for (const int64_t n : {ends.fewest, int64_t{3}, int64_t{19}}) {
        CheckSameOptimised(ssa, Transform::kValue, EndArgs(n));
        CheckSameOptimised(ssa, Transform::kValueAndGrad, EndArgs(n));
      }
      CheckDerivatives(ssa, EndArgs(3));
    }
  }
}

TEST_CASE("end rows: of ends of ends") {
  const std::string step =
      "gen i < n { if i == 0 { FROM[0] } else { if i == n - 1 { FROM[n - 1] } else { FROM[i] + 0.1 "
      "* "
      "(FROM[i + 1] - 2.0 * FROM[i] + FROM[i - 1]) } } }\n";
  const auto from = [&](std::string array) {
    std::string text = step;
    for (size_t at; (at = text.find("FROM")) != std::string::npos;) text.replace(at, 4, array);
    return text;
  };
  const std::string text =
      "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, k]f64) -> f64 {\n  let z = tanh.(x @ w)\n  let a "
      "= " +
      from("z") + "  let p = " + from("a") + "  return sum i < n { norm2(p[i] @ u) }\n}\n";
  const ir::Module ssa = LowerText(text, "f");
  for (const int64_t n : {0, 1, 2, 3, 19}) {
    CheckSameOptimised(ssa, Transform::kValue, EndArgs(n));
    CheckSameOptimised(ssa, Transform::kValueAndGrad, EndArgs(n));
  }
  CheckDerivatives(ssa, EndArgs(4));
}

TEST_CASE("end rows: windows around a ring") {
  for (const char* at :
       {"(i + q + n - 1) % n", "(i + q + n - 2) % n", "(i + q) % n", "(i + 3 - q + n) % n",
        "(i + q + r + 2 * n - 4) % n", "(n - 1 + i - q) % n", "(i + q + n - 3) % n"}) {
    for (const char* body :
         {"  return sum i < n { norm2(sum q < 3, r < 2 { z[AT] @ u * f64(q - r + 2) }) }\n",
          "  return sum i < n { log(1.0 + sum q < 3, r < 2 { norm2(z[AT] - z[i]) }) }\n"}) {
      std::string text =
          std::string(
              "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, k]f64) -> f64 {\n  let z = tanh.(x @ w)\n") +
          body + "}\n";
      text.replace(text.find("AT"), 2, at);
      INFO(text);
      const ir::Module ssa = LowerText(text, "f");
      for (const int64_t n : {0, 1, 2, 3, 4, 19}) {
        if (CheckSameTrap(Derived(ssa, Transform::kValue), ssa, EndArgs(n))) continue;
        CheckSameOptimised(ssa, Transform::kValue, EndArgs(n));
        CheckSameOptimised(ssa, Transform::kValueAndGrad, EndArgs(n));
      }
      CheckDerivatives(ssa, EndArgs(4));
    }
  }
}

TEST_CASE("end rows: turns of a loop that take them and their own") {
  for (const char* turn : kLoops) {
    const std::string text = std::string(
                                 "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, k]f64) -> f64 {\n  let z "
                                 "= tanh.(x @ w)\n  var "
                                 "s = 0.1\n  for i < n {\n") +
                             turn + "  }\n  return s\n}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    for (const int64_t n : {0, 1}) CheckSameTrap(Derived(ssa, Transform::kValue), ssa, EndArgs(n));
    for (const int64_t n : {2, 3, 19, 40}) {
      CheckSameOptimised(ssa, Transform::kValue, EndArgs(n));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, EndArgs(n));
    }
    CheckDerivatives(ssa, EndArgs(3));
  }
}

TEST_CASE("end rows: one that is not there is the error that it was") {
  for (const Ends& ends : kEnds) {
    for (const char* body : kEndBodies) {
      const std::string text = EndProgram(ends, body);
      INFO(text);
      const ir::Module ssa = LowerText(text, "f");
      const ir::Module optimised = Derived(ssa, Transform::kValue);
      int traps = 0;
      for (int64_t n = 0; n < ends.fewest; ++n)
        traps += CheckSameTrap(optimised, ssa, EndArgs(n)) ? 1 : 0;
      CHECK(traps > 0);
    }
  }
}

}  // namespace pullback::testing
