#include <catch2/catch.hpp>

#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

std::string SignatureText(const std::string& text, const std::string& entry) {
  Program program = Checked(text);
  StatusOr<Signature> signature = GetSignature(program, entry);
  if (!signature.ok()) return signature.status().reason() + " " + signature.status().message();
  std::string out = signature->entry + "(";
  for (const Parameter& p : signature->params) out += p.name + ": " + p.type.ToString() + "; ";
  return out + ") -> " + signature->result.ToString();
}

TEST_CASE("GetSignature: names, types, sizes as text") {
  CHECK(SignatureText("fn f(x: [n]f64, c: [m]f32, k: i64, b: bool) -> [n - m + 1]f64 "
                      "{ return zeros(n - m + 1) }",
                      "f") == "f(x: [n]f64; c: [m]f32; k: i64; b: bool; ) -> [n - m + 1]f64");
  CHECK(SignatureText("fn f(t: (f64, ([n, 3]i64, bool))) -> (f64, [n]f64) "
                      "{ return (t.0, zeros(n)) }",
                      "f") == "f(t: (f64, ([n, 3]i64, bool)); ) -> (f64, [n]f64)");
}

TEST_CASE("GetSignature: sizes keep the brackets that they need") {
  CHECK(SignatureText("fn f(x: [n, m]f64) -> [2*(n - (m+1)), (n - m) - 1, (n), -(n + m), -n * m, "
                      "n / (m * 2)]f64 { while true { } }",
                      "f") ==
        "f(x: [n, m]f64; ) -> [2 * (n - (m + 1)), n - m - 1, n, -(n + m), -n * m, n / (m * 2)]f64");
}

TEST_CASE("GetSignature: a function without result gives a tuple of nothing") {
  CHECK(SignatureText("fn f() { return }", "f") == "f() -> ()");
}

TEST_CASE("GetSignature: an unknown entry") {
  CHECK(SignatureText("fn f() -> f64 { return 1.0 }\nfn g() -> f64 { return f() }", "h") ==
        "ENTRY_NOT_FOUND the program has no function 'h'; it has: f, g");
}

}  // namespace
}  // namespace pullback::lang
