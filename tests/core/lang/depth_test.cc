// Programs as deep as the limits let them be go through the front end on little stack.
#include <catch2/catch.hpp>

#include "core/lang/lang.h"
#include "tests/support/repeat.h"
#include "tests/support/small_stack.h"

namespace pullback::lang {
namespace {

using testing::Repeat;

struct Deep {
  const char* what;
  std::string text;
};

std::vector<Deep> DeepPrograms() {
  const int most = Limits().max_chain, nested = Limits().max_nesting - 2;
  const auto of = [](const std::string& e) { return "fn f(x: f64) -> f64 { return " + e + " }"; };
  const auto mixed = [&](int n) {
    return Repeat("1.0 + x * -x ** (if true and not 1.0 < x { 2.0 } else { ", n) + "x" +
           Repeat(" })", n);
  };
  return {
      {"sum", of("x" + Repeat(" + x", most))},
      {"product", of("x" + Repeat(" * x", most))},
      {"power", of("x" + Repeat(" ** x", most))},
      {"transposes", "fn f(a: [n, n]f64) -> [n, n]f64 { return a" + Repeat(".T", most) + " }"},
      {"changes",
       "struct S { a: f64 }\nfn f(s: S) -> S { return s" + Repeat(" with a = 1.0", most) + " }"},
      {"comparisons", "fn f(x: f64) -> bool { return x" + Repeat(" < x", most / 2) + " }"},
      {"conjunction", "fn f(p: bool) -> bool { return p" + Repeat(" and p", most) + " }"},
      {"array sum", "fn f(x: [n]f64) -> [n]f64 { return x" + Repeat(" + x", most) + " }"},
      {"bracketed sum",
       "fn f(x: [n]f64, p: bool) -> [n]f64 { return [p] * x" + Repeat(" * x", most - 2) + " }"},
      {"body",
       "fn f(x: [n]f64) -> f64 { return sum i < n { x[i]" + Repeat(" + x[i]", most - 2) + " } }"},
      {"brackets", of(Repeat("(x + ", nested) + "x" + Repeat(")", nested))},
      {"calls",
       "fn g(x: f64) -> f64 { return x }\n" + of(Repeat("g(", nested) + "x" + Repeat(")", nested))},
      {"minuses", of(Repeat("-", nested) + "x")},
      {"comprehensions", of(Repeat("sum i < 2 { ", nested / 2) + "x" + Repeat(" }", nested / 2))},
      {"all levels", of(mixed(nested / 4))},
  };
}

void ThroughTheFrontEnd(const std::string& text) {
  StatusOr<Program> program = Parse(text);
  CHECK(program.ok());
  if (!program.ok()) return;
  const StatusOr<Program> again = Parse(Format(*program));
  CHECK(again.ok());
  const Status checked = Check(*program);
  INFO(checked.ToString());
  CHECK(checked.ok());
  if (!checked.ok()) return;
  CHECK(Canonicalise(*program, "f").ok());
  CHECK_FALSE(DumpAst(*program, "f").empty());
  CHECK(Lower(*program, "f").ok());
}

TEST_CASE("depth: whatever is within the limits fits on little stack") {
  for (const Deep& deep : DeepPrograms()) {
    INFO(deep.what);
    testing::OnSmallStack([&] { ThroughTheFrontEnd(deep.text); });
  }
}

}  // namespace
}  // namespace pullback::lang
