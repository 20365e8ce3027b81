// Functions of several returns that bodies call with arrays: choices between what they give, as an `if` that is a value is.
#include <catch2/catch.hpp>
#include <string>

#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

const std::string kCalls =
    "fn f(z: [n, h]f64, c: i64) -> f64 { return sum i < n, q < 3, l < h { at(z, i + q - 1, l, c) * "
    "f64(q + l + 1) } }\n";

// Of at(z: [n, h]f64, i: i64, l: i64, c: i64) -> f64.
const char* const kBodies[] = {
    "if i < 0 { return 0.0 } if i >= n { return 1.0 } return z[i, l]",
    "if i < 0 { return z[0, l] } else if i >= n { return z[n - 1, l] } return z[i, l] * 2.0",
    "if i < 0 or i >= n { return 0.5 } let v = z[i, l]; if v > 0.2 { let w = v * v; return w - 1.0 "
    "} "
    "return v",
    "let k = max(0, min(n - 1, i)); if c > 1 { if k == 0 { return -z[0, l] } else { return z[k, 0] "
    "} } "
    "if c == 1 { return z[k, l] } else { return sin(z[k, l]) }",
    "if i < 0 { return 0.0; return 9.0 } if i >= n { return sum j < h { z[0, j] } } return sum j < "
    "l + "
    "1 { z[i, j] }",
    "var s = f64(i); if i < 0 { return s } if i >= n { return 2.0 * s } return s * z[i, l]",
};

std::string Header(const std::string& body) {
  return "fn at(z: [n, h]f64, i: i64, l: i64, c: i64) -> f64 { " + body + " }\n";
}

const Tensor& Rows() {
  static const Tensor rows =
      Mat(4, 3, {0.1, 0.4, -2.0, 0.5, 0.3, 0.9, -0.7, 0.8, 0.2, 1.5, -0.1, 0.6});
  return rows;
}

}  // namespace

TEST_CASE("returns: a body has the text of a function that returns by conditions", "[lower]") {
  for (const std::string body : kBodies) {
    INFO(body);
    const std::string inlined = Header(body) + kCalls;
    const std::string called = Header("while c > 100 { return 7.0 } " + body) + kCalls;
    CHECK(Ir(inlined).find("br ") == std::string::npos);
    CHECK(Ir(called).find("br ") != std::string::npos);
    for (const int64_t c : {0, 1, 2}) {
      const double expected = Doubles(Values(called, {Rows(), I64(c)})[0])[0];
      CHECK(Doubles(Values(inlined, {Rows(), I64(c)})[0])[0] == Approx(expected).epsilon(1e-13));
    }
  }
}

TEST_CASE("returns: rows, and tuples", "[lower]") {
  const std::string text =
      "fn row(z: [n, h]f64, i: i64) -> [h]f64 { if i < 0 { return z[0] } if i >= n { return z[n - "
      "1] } "
      "return z[i] }\n"
      "fn both(z: [n, h]f64, i: i64) -> (f64, f64) { if i == 0 { return (1.0, z[0, 0]) } return "
      "(z[i, "
      "1], z[i - 1, 2]) }\n"
      "fn f(z: [n, h]f64) -> f64 { return sum i < n { dot(row(z, i - 2), row(z, i + 2)) + both(z, "
      "i).0 "
      "* both(z, i).1 } }\n";
  double expected = 0.0;
  const auto at = [](int64_t i, int64_t l) { return Rows().At<double>(i * 3 + l); };
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t l = 0; l < 3; ++l)
      expected += at(std::max<int64_t>(i - 2, 0), l) * at(std::min<int64_t>(i + 2, 3), l);
    expected += i == 0 ? at(0, 0) : at(i, 1) * at(i - 1, 2);
  }
  CHECK(Ir(text).find("br ") == std::string::npos);
  CHECK(Doubles(Values(text, {Rows()})[0])[0] == Approx(expected));
}

TEST_CASE("returns: an arm that is not chosen does not trap, one that is does", "[lower]") {
  const std::string text =
      Header("if i < 0 { return z[c, l] } if i >= n { return 0.0 } return z[i, l]") + kCalls;
  CHECK_FALSE(RunText(text, {Rows(), I64(3)}).trap);
  const eval::Result run = RunText(text, {Rows(), I64(4)});
  REQUIRE(run.trap);
  CHECK(run.trap->kind == ir::TrapKind::kIndex);
}

TEST_CASE("returns: many conditions, and loops, are left to blocks", "[lower]") {
  std::string many;
  for (int k = 0; k < 40; ++k)
    many += "if i == " + std::to_string(k) + " { return z[" + std::to_string(k % 4) + ", l] } ";
  const std::string text = Header(many + "return 0.25") + kCalls;
  CHECK(Ir(text).find("br ") != std::string::npos);
  const std::string few =
      Header("if i < 4 and i >= 0 { return z[i, l] } if i == 4 { return z[0, l] } return 0.25");
  CHECK(Doubles(Values(text, {Rows(), I64(0)})[0])[0] ==
        Approx(Doubles(Values(few + kCalls, {Rows(), I64(0)})[0])[0]));
  const std::string loop = Header(
      "var s = 0.0; for j < h { if j > l { return s } s += z[max(0, min(n - 1, i)), j] } return s");
  CHECK(Ir(loop + kCalls).find("br ") != std::string::npos);
}

}  // namespace pullback::lang
