// Rows at places that are held at the ends, reflected there, or others by a condition: the same as unoptimised, in value,
// derivatives and errors.
#include <catch2/catch.hpp>
#include <string>

#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Tensor> PlaceArgs(int64_t n) {
  return {Waves(n, 2, 0.5), Waves(2, 4, 1.5), Waves(4, 3, 0.25)};
}

std::string With(std::string body, const std::string& at) {
  for (size_t k = 0; (k = body.find("AT", k)) != std::string::npos; k += at.size())
    body.replace(k, 2, at);
  return body;
}

void CheckProgram(const std::string& body) {
  const std::string text =
      "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, k]f64) -> f64 {\n  let z = tanh.(x @ w)\n" + body +
      "}\n";
  INFO(text);
  const ir::Module ssa = LowerText(text, "f");
  for (const int64_t n : {0, 1, 2, 3, 4, 5, 19}) {
    INFO("n = " << n);
    if (CheckSameTrap(Derived(ssa, Transform::kValue), ssa, PlaceArgs(n))) continue;
    CheckSameOptimised(ssa, Transform::kValue, PlaceArgs(n));
    CheckSameOptimised(ssa, Transform::kValueAndGrad, PlaceArgs(n));
  }
  const bool ends = CheckSameTrap(Derived(ssa, Transform::kValue), ssa, PlaceArgs(6));
  if (!ends) CheckDerivatives(ssa, PlaceArgs(6));
}

}  // namespace

TEST_CASE("end places: held and reflected in windows") {
  for (const char* at :
       {"abs(i + q - 2)", "abs(i - q)", "n - 1 - abs(n - 1 - i - q)",
        "min(abs(i + q - 2), 2 * (n - 1) - abs(i + q - 2))",
        "min(abs(i + q - 3), 2 * (n - 1) - abs(i + q - 3))",
        "if abs(i + q - 1) < n { abs(i + q - 1) } else { 2 * n - 2 - abs(i + q - 1) }",
        "if i + q - 1 < 0 { 1 - i - q } else { if i + q - 1 >= n { 2 * n - 1 - i - q } else { i + "
        "q "
        "- 1 } }",
        "min(n - 1, max(0, i + q - 2))", "max(0, min(i - q, n - 1))", "min(n - 1, abs(i + q - 2))",
        "max(0, min(n - 1, i + 2 * q - 2))", "min(n - 1, max(0, i - 2 * q + 1))", "max(0, i - q)",
        "(i + 2 * q + 2 * n - 2) % n"}) {
    for (const char* body :
         {"  return sum i < n { norm2(sum q < 3 { z[AT] @ u * f64(q + 2) }) }\n",
          "  return sum i < n, q < 3 { log(1.0 + norm2(z[AT] - z[i])) }\n",
          "  let p = gen i < n { sum q < 3 { if i + q >= n - 2 { z[AT] * 2.0 } else { zeros(h) } } "
          "}\n"
          "  return sum i < n { norm2(p[i] @ u) }\n"})
      CheckProgram(With(body, at));
  }
}

TEST_CASE("end places: by conditions") {
  for (const char* at :
       {"if i == 0 { 1 } else { i - 1 }", "if i == n - 1 { n - 2 } else { i + 1 }",
        "if i < 2 { 2 - i } else { i - 2 }", "if i == 0 { n - 1 } else { i - 1 }",
        "if i >= n - 2 { n - 1 - i } else { i + 2 }", "if i < n - 1 { i + 1 } else { 0 }",
        "if i < 2 { 1 } else { if i == n - 1 { 0 } else { i - 2 } }", "abs(i - 2)",
        "n - 1 - abs(n - 2 - i)"}) {
    for (const char* body :
         {"  return sum i < n { let j = AT; log(1.0 + norm2((z[j] - z[i]) @ u)) }\n",
          "  let r = tanh.(gen i < n { let j = AT; (z[i] - 0.5 * z[j]) @ u })\n"
          "  return sum i < n { let j = AT; norm2(r[j] + r[i]) }\n",
          "  let a = gen i < n { z[i] * 2.0 }\n"
          "  return sum i < n { let j = AT; norm2(a[j] @ u) }\n"})
      CheckProgram(With(body, at));
  }
}

TEST_CASE("end places: that a condition decides, or has alone") {
  for (const char* rows :
       {"[i >= 3] * z[max(0, i - 3)]", "if i > 0 { z[max(i - 1, 0)] - z[i] } else { z[i] }",
        "if i < 2 { z[2 - i] } else { z[i - 2] }", "[i < 1] * z[1 - i]",
        "if i >= n - 2 { z[2 * n - 3 - i] } else { z[i] }",
        "if n == 1 { z[2 - 2 * n] } else { z[i] }", "if i == 0 { z[abs(i - 2)] } else { z[i] }",
        "if i + 2 < n { z[min(n - 1, i + 2)] } else { z[0] }"}) {
    for (const char* body : {"  return sum i < n { logsumexp((AT) @ u) }\n",
                             "  let p = gen i < n { AT }\n  return sum i < n { norm2((p[min(n - 1, "
                             "i + 3)] + p[i]) @ u) }\n"})
      CheckProgram(With(body, rows));
  }
}

// Which errors are so: the row is named by another condition, or the first point has no row.
TEST_CASE("end places: rows that are not there end the run by their own numbers") {
  const std::string text =
      "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, k]f64) -> f64 {\n  let z = tanh.(x @ w)\n"
      "  return sum i < n { norm2(z[if abs(i - 1) < n { abs(i - 1) } else { 2 * n - 2 - abs(i - 1) "
      "}] @ u) }\n}\n";
  const ir::Module ssa = LowerText(text, "f");
  for (const Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
    const auto run = eval::Run(Derived(ssa, transform), PlaceArgs(1));
    REQUIRE(run.ok());
    REQUIRE(run->trap);
    CHECK(run->trap->kind == ir::TrapKind::kIndex);
    CHECK(run->trap->a == -1);
    CHECK(run->trap->b == 1);
  }
}

}  // namespace pullback::testing
