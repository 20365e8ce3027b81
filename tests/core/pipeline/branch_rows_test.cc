// A row or two beside all rows, where control flow stands between them: the same as unoptimised, in value, derivatives and errors.
#include <catch2/catch.hpp>
#include <string>

#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Tensor> RowArgs(int64_t n, int64_t c) {
  return {Waves(n, 2, 0.5), Waves(2, 4, 1.5), Waves(4, 3, 0.25), Tensor::I64(c)};
}

std::string RowProgram(const std::string& rows, const std::string& body) {
  return "fn f(x: [n, d]f64, w: [d, h]f64, u: [h, k]f64, c: i64) -> f64 {\n  let z = " + rows +
         "\n" + body + "}\n";
}

const char* const kMade[] = {"tanh.(x @ w)",
                             "gen i < n { if i == 0 { w[0] } else { x[i - 1] @ w } }"};
const char* const kBodies[] = {
    "  let r = sum(z * z)\n  if c >= 0 { return r + sum(z[0]) }\n  return r\n",
    "  let r = sum(z * z)\n  if c >= 0 { return r + logsumexp(z[c]) * z[n - 1, 1] }\n  return r\n",
    "  let q = sum(z[0] * z[n - 1])\n  let s = if q > 0.5 { q } else { q * q }\n"
    "  return s + sum i < n { norm2(z[i] @ u) }\n",
    "  return (sum i < n { norm2(z[i]) }) - log_softmax(z[n - 1] @ u)[1]\n",
    "  return (sum i < n { logsumexp(z[i] @ u) }) * logsumexp(z[0]) + logsumexp(z[n - 1])\n",
    "  let m = gen l < h { (sum i < n { z[i, l] }) / f64(n) }\n  return -log_softmax(m @ u)[0]\n",
    "  let m = gen l < h { max i < n { z[i, l] } }\n  return -log_softmax(m @ u)[0]\n",
    "  let m = gen l < h { min i < n { z[i, l] } }\n  return norm2(m @ u) + logsumexp(z[0])\n",
    "  let m = gen j < k { max i < n { relu((sum l < h { z[i, l] * u[l, j] }) + u[0, j]) } }\n"
    "  return -log_softmax(m)[0]\n",
    "  let y = gen i < n, j < k { relu((sum l < h { z[i, l] * u[l, j] }) + u[0, j]) }\n"
    "  let m = gen j < k { max i < n { y[i, j] } }\n  return -log_softmax(m)[0] + "
    "logsumexp(y[0])\n",
    "  let y = gen i < n, j < k { relu((sum l < h { z[i, l] * u[l, j] }) - u[0, j]) }\n"
    "  let m = gen j < k { mean(y[:, j]) }\n  return -log_softmax(m)[1]\n",
    "  var a = 0.2\n  for i < n { a = sin(a + sum(z[i])) }\n  return a * logsumexp(z[c]) + sum(z * "
    "z)\n",
};

}  // namespace

TEST_CASE("branches: a row beside all rows") {
  for (const char* rows : kMade) {
    for (const char* body : kBodies) {
      const std::string text = RowProgram(rows, body);
      INFO(text);
      const ir::Module ssa = LowerText(text, "f");
      for (int64_t n : {1, 2, 17}) {
        CheckSameOptimised(ssa, Transform::kValue, RowArgs(n, 0));
        CheckSameOptimised(ssa, Transform::kValueAndGrad, RowArgs(n, 0));
      }
      CheckDerivatives(ssa, RowArgs(3, 1), 1e-5, {true, true, true, false});
    }
  }
}

TEST_CASE("branches: by what is made of the first row, and of each") {
  for (const char* body :
       {"  let s = gen i < n { norm2(z[i]) }\n  let a = gen i < n { s[i] + s[0] > 0.4 }\n"
        "  return sum i < n { (if a[0] and a[i] { z[i, 0] } else { 0.5 }) }\n",
        "  let a = gen i < n { norm2(z[i]) > 0.4 }\n"
        "  return sum i < n { (if a[0] { z[i, 0] } else { 0.5 }) + [a[n - 1] and a[i]] * z[i, 1] "
        "}\n"}) {
    const std::string text = RowProgram(kMade[0], body);
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    for (int64_t n : {0, 1, 2, 17}) {
      CheckSameOptimised(ssa, Transform::kValue, RowArgs(n, 0));
      CheckSameOptimised(ssa, Transform::kValueAndGrad, RowArgs(n, 0));
    }
  }
}

TEST_CASE("branches: a row that is not there is the error that it was, if it is asked for") {
  for (const char* body : kBodies) {
    const std::string text = RowProgram(kMade[0], body);
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    const ir::Module optimised = Derived(ssa, Transform::kValue);
    for (const auto& [n, c] :
         {std::pair<int64_t, int64_t>{0, 0}, {0, -1}, {2, 2}, {2, -1}, {2, -5}}) {
      INFO(n << ", " << c);
      CheckSameTrap(optimised, ssa, RowArgs(n, c));
    }
  }
}

}  // namespace pullback::testing
