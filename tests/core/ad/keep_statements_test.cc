// Arrays on the tape of a loop: what arithmetic makes of others that are kept is made again.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// An array goes on the tape where it comes off with an array's type.
int CountKeptArrays(const std::string& program, std::vector<bool> wrt) {
  const auto staged = pipeline::Derive(LowerText(program, "f"), Transform::kVjp, wrt, {});
  REQUIRE(staged.ok());
  const std::string text = ir::Print(staged->adjoint);
  int count = 0;
  for (size_t at = text.find("= pop"); at != std::string::npos; at = text.find("= pop", at + 1))
    count += text.substr(at, text.find('\n', at) - at).find(": [") != std::string::npos;
  return count;
}

struct KeptCase {
  const char* name;
  std::string turn;
  int kept;
};

const KeptCase kCases[] = {
    {"of one array", "let q = gen k < h { z[k] * z[k] + 1.0 }\n", 1},
    {"one after the other",
     "let p = gen k < h { z[k] * z[k] + 1.0 }\n  let q = gen k < h { 0.5 * p[k] - z[k] }\n", 1},
    {"of two places, and guarded",
     "let q = gen k < h { if k > 0 { z[k] - z[k - 1] } else { 2.0 * z[k] } }\n", 1},
    {"by a number of the turn", "let t = sum(z)\n  let q = gen k < h { z[k] / t }\n", 1},
    {"of other extents", "let q = gen k < h / 2 { z[2 * k] - z[2 * k + 1] * z[2 * k] }\n", 1},
    {"by a function of the math table", "let q = gen k < h { exp(z[k]) }\n", 2},
    {"a sum for each element", "let q = gen k < h { sum j < h { z[j] * w[k % 2, j] } }\n", 2},
    {"much arithmetic",
     "let q = gen k < h { ((((z[k] * 0.3 - 1.0) * z[k] + 0.2) * z[k] - 0.3) * z[k] + 0.4) * z[k] "
     "}\n",
     2},
    {"of what is changed behind it",
     "var a = z\n  let q = gen k < h { a[k] * a[k] }\n  a[0] = q[1]\n  a[1] = q[0] * a[0]\n"
     "  s += a[0] * a[1] * a[2]\n",
     1},
};

TEST_CASE("arrays that arithmetic makes of kept ones are not kept") {
  for (const KeptCase& c : kCases) {
    SECTION(c.name) {
      const std::string text =
          "fn f(x: [n, d]f64, w: [d, h]f64) -> f64 {\n  var s = 0.3\n  for i < n {\n"
          "  let z = gen l < h { exp(sum j < d { x[i, j] * w[j, l] }) }\n  " +
          std::string(c.turn) +
          "  s = sin(s) + sum l < len(q) { q[l] * q[l] * q[l] * z[l] * z[l] }\n  }\n  return s\n}";
      CheckDerivatives(LowerText(text, "f"),
                       {Mat(3, 2, {0.3, -0.2, 0.1, 0.4, -0.5, 0.2}),
                        Mat(2, 4, {0.5, -0.3, 0.2, 0.1, 0.4, 0.6, -0.2, 0.3})},
                       1e-5, {true, true});
      CHECK(CountKeptArrays(text, {true, true}) == c.kept);
    }
  }
}

}  // namespace
}  // namespace pullback::testing
