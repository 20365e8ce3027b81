#include <catch2/catch.hpp>
#include <set>

#include "core/lang/entry.h"
#include "core/lang/lang.h"

namespace pullback::lang {
namespace {

Program MustCheck(const std::string& text) {
  StatusOr<Program> p = Parse(text);
  INFO(text << "\n" << p.status().ToString());
  REQUIRE(p.ok());
  Status status = Check(*p);
  INFO(status.ToString());
  REQUIRE(status.ok());
  return std::move(*p);
}

Canonical CanonicalOf(const std::string& text, const std::string& entry = "f") {
  StatusOr<Canonical> c = Canonicalise(MustCheck(text), entry);
  REQUIRE(c.ok());
  return std::move(*c);
}

std::string TextOf(const std::string& text) { return CanonicalOf(text).text; }

std::string OfExpr(const std::string& e) {
  return TextOf("fn f(x: f64, y: f64, k: i64, a: [n]f64, s: f32) -> f64 { return " + e + " }");
}

TEST_CASE("canonical: names, layout, comments, spelling do not matter") {
  std::string a = TextOf(
      "fn f(x: f64, n: i64) -> f64 {\n"
      "  var r = 1.0\n"
      "  var k = n\n"
      "  while k > 0 && true { k = k - 1; r *= helper(x) }  # comment\n"
      "  return r\n"
      "}\n"
      "fn helper(z: f64) -> f64 { return z + 16 }\n"
      "fn unused(z: f64) -> f64 { return z }\n");
  std::string b = TextOf(
      "fn g(q: f64) -> f64 { return (q) + 0x10 }\n"
      "fn f(base: f64, times: i64) -> f64 { var out = 1e0; var left = times;\n"
      "while (left > 0) and true { left -= 1\n out = out * g(base) } return out }");
  CHECK(a == b);
  CHECK(a.find("helper") == std::string::npos);
  CHECK(a.find("comment") == std::string::npos);
}

TEST_CASE("canonical: what it looks like") {
  CHECK(TextOf("fn f(a: [n]f64, w: f32) -> f64 { let h = n - 1\n return sum i < h { [i > 0] * a[i] "
               "} }") ==
        "fn f0(v0: [v2, ]f64, v1: f32, ) -> f64 {\n"
        "let v3,  = (v2 - i64:1)\n"
        "return (sum v4 in ..v3,  {\n"
        "(iverson f64[(v4 > i64:0), ] * v0[v4, ])\n"
        "})\n"
        "}\n");
}

TEST_CASE("canonical: literals carry the type that they adapted to") {
  CHECK(OfExpr("x * 2") == OfExpr("x * 2.0"));
  CHECK(OfExpr("x * 0.5") == OfExpr("x * 5e-1f64"));
  CHECK(OfExpr("x * f64(s * 0.5)") != OfExpr("x * (f64(s) * 0.5)"));
  CHECK(TextOf("fn f(s: f32) -> f32 { return s * 0.1 }") ==
        TextOf("fn f(s: f32) -> f32 { return s * 0.1f32 }"));
  CHECK(TextOf("fn f() -> f64 { return 1.0 }") != TextOf("fn f() -> f32 { return 1.0 }"));
}

// Pairwise different in meaning, so pairwise different in text.
TEST_CASE("canonical: different programs differ") {
  std::set<std::string> texts;
  const char* expressions[] = {"x",
                               "y",
                               "x + y",
                               "y + x",
                               "x - y",
                               "x * y",
                               "x / y",
                               "x % y",
                               "x ** y",
                               "-x",
                               "x + y * x",
                               "(x + y) * x",
                               "x - (y - x)",
                               "x - y - x",
                               "1.0",
                               "2.0",
                               "0.1",
                               "1.0000000000000002",
                               "-1.0",
                               "f64(k)",
                               "f64(1)",
                               "f64(true)",
                               "f64(s)",
                               "f64(f32(x))",
                               "f64(i64(x))",
                               "a[k]",
                               "a[0]",
                               "a[k + 1]",
                               "sum(a)",
                               "prod(a)",
                               "max(a)",
                               "sum i < n { a[i] }",
                               "sum i in 0..n { a[i] }",
                               "sum i in 1..n { a[i] }",
                               "sum i < n { a[i] * a[i] }",
                               "sum i < n, j < n { a[i] }",
                               "sum i < n { sum j < n { a[i] } }",
                               "sum i < n, j < n { a[j] }",
                               "prod i < n { a[i] }",
                               "max i < n { a[i] }",
                               "min i < n { a[i] }",
                               "sum i < n { [i < k] * a[i] }",
                               "sum i < n { [i <= k] * a[i] }",
                               "sum i < k { a[i] }",
                               "if x < y { x } else { y }",
                               "if x <= y { x } else { y }",
                               "if y > x { x } else { y }",
                               "if x < y { y } else { x }",
                               "if x < y { x } else if x > y { y } else { 0.0 }",
                               "if x < y and x > 0 { x } else { y }",
                               "if x < y or x > 0 { x } else { y }",
                               "if not x < y { x } else { y }",
                               "select(x < y, x, y)",
                               "sin(x)",
                               "cos(x)",
                               "min(x, y)",
                               "max(x, y)",
                               "max(y, x)",
                               "a @ a",
                               "sum(a[1:])",
                               "sum(a[:k])",
                               "sum(a[1:k])",
                               "sum(a[::2])",
                               "sum(a[::3])",
                               "sum(sin.(a))",
                               "sum(a + a)",
                               "sum(a * 2)",
                               "(x, y).0",
                               "(x, y).1",
                               "[x, y][0]",
                               "[x, y][1]",
                               "[x,][0]",
                               "f64(len(a))",
                               "f64(dim(a, 0))",
                               "sum(gen i < n { a[i] })",
                               "sum(gen i < n { let z = a[i]; z })",
                               "sum(zeros(k))"};
  size_t count = 0;
  for (const char* e : expressions) {
    INFO(e);
    CHECK(texts.insert(OfExpr(e)).second);
    ++count;
  }
  CHECK(texts.size() == count);
}

TEST_CASE("canonical: statements and headers differ") {
  std::set<std::string> texts;
  const char* programs[] = {
      "fn f(x: f64) -> f64 { return x }",
      "fn f(x: f64, y: f64) -> f64 { return x }",
      "fn f(y: f64, x: f64) -> f64 { return x }",
      "fn f(x: f64, y: f32) -> f64 { return x }",
      "fn f(x: [n]f64) -> [n]f64 { return x }",
      "fn f(x: [n, n]f64) -> [n, n]f64 { return x }",
      "fn f(x: [n, m]f64) -> [n, m]f64 { return x }",
      "fn f(x: [3]f64) -> [3]f64 { return x }",
      "fn f(x: f64) -> f64 { let y = x\n return x }",
      "fn f(x: f64) -> f64 { let y = x\n return y }",
      "fn f(x: f64) -> f64 { var y = x\n return y }",
      "fn f(x: f64) -> f64 { var y = x\n y = y + 1\n return y }",
      "fn f(x: f64) -> f64 { var y = x\n y = y + 1\n return x }",
      "fn f(x: f64) -> f64 { var y = x\n while y < 3 { y += 1 }\n return y }",
      "fn f(x: f64) -> f64 { var y = x\n while y < 3 { y += 1; break }\n return y }",
      "fn f(x: f64) -> f64 { var y = x\n for i < 3 { y += 1 }\n return y }",
      "fn f(x: f64) -> f64 { var y = x\n for i < 3 { if y < 2 { continue } y += 1 }\n return y }",
      "fn f(x: f64) -> f64 { if x > 0 { return x } return 1 }",
      "fn f(x: f64) -> f64 { if x > 0 { return x } else { return 1 } }",
      "fn f(x: f64) -> f64 { return g(x) } fn g(x: f64) -> f64 { return x }",
      "fn f(x: f64) -> f64 { return g(x) } fn g(x: f64) -> f64 { return g(x) }",
      "fn f(x: f64) -> f64 { return g(x) } fn g(x: f64) -> f64 { return f(x) }",
      "fn f(x: f64) -> f64 { return g(x) + h(x) } fn g(x: f64) -> f64 { return x } "
      "fn h(x: f64) -> f64 { return 2 * x }",
      "fn f(x: f64) -> f64 { return h(x) + g(x) } fn g(x: f64) -> f64 { return x } "
      "fn h(x: f64) -> f64 { return 2 * x }"};
  for (const char* p : programs) {
    INFO(p);
    CHECK(texts.insert(TextOf(p)).second);
  }
}

TEST_CASE("canonical: function f32 and the cast f32 are not confused") {
  std::string functions, calls = "0.0";
  for (int i = 0; i < 40; ++i) {
    std::string name = "g" + std::to_string(i);
    functions += "fn " + name + "(x: f64) -> f64 { return x + " + std::to_string(i) + " }\n";
    calls += " + " + name + "(x)";
  }
  std::string text =
      TextOf("fn f(x: f64) -> f64 { return f64(f32(x)) + " + calls + " }\n" + functions);
  CHECK(text.find("cast f32(") != std::string::npos);
  CHECK(text.find(" f32(v0") != std::string::npos);
}

TEST_CASE("canonical: reached functions in the order of first calls") {
  Program p = MustCheck(
      "fn a(x: f64) -> f64 { return d(x) }\n"
      "fn b(x: f64) -> f64 { return c(x) + a(c(x)) + b(x) }\n"
      "fn c(x: f64) -> f64 { return x }\n"
      "fn d(x: f64) -> f64 { return b(x) }\n"
      "fn e(x: f64) -> f64 { return x }\n");
  CHECK(ReachedFunctions(p, 1) == std::vector<uint32_t>{1, 2, 0, 3});
  CHECK(ReachedFunctions(p, 4) == std::vector<uint32_t>{4});
  std::vector<uint32_t> bases = CanonicalBases(p, 1);
  CHECK(bases[1] == 1);
  CHECK(bases[2] == 1 + p.functions[1]->node_count);
  CHECK(bases[0] == bases[2] + p.functions[2]->node_count);
  CHECK(bases[4] == 0);
}

TEST_CASE("canonical: places map ordinals to this text") {
  const std::string text =
      "fn unused(x: f64) -> f64 { return x }\n"
      "fn g(x: [n]f64) -> f64 { return x[7] }\n"
      "fn f(x: [n]f64) -> f64 {\n  return g(x) + relu(x[0])\n}\n";
  Program p = MustCheck(text);
  StatusOr<Canonical> c = Canonicalise(p, "f");
  REQUIRE(c.ok());
  std::vector<uint32_t> bases = CanonicalBases(p, 2);
  const Function& g = *p.functions[1];
  const Expr& access = *g.body.stmts[0]->value;
  const Place& place = c->places[bases[1] + access.ordinal - g.first_ordinal];
  CHECK(place.function == "g");
  CHECK(place.span.line == 2);
  CHECK(text.substr(place.span.begin, place.span.end - place.span.begin) == "x[7]");
  CHECK(c->places.back().span.line == 0);
  CHECK(c->places.back().function == "relu");
  uint32_t nodes = p.functions[1]->node_count + p.functions[2]->node_count;
  CHECK(c->places.size() > 1 + nodes);
}

TEST_CASE("canonical: an entry that is not there") {
  Program p = MustCheck("fn f(x: f64) -> f64 { return relu(x) }\nfn g(x: f64) -> f64 { return x }");
  StatusOr<Canonical> c = Canonicalise(p, "h");
  REQUIRE_FALSE(c.ok());
  CHECK(c.status().code() == Code::kNotFound);
  CHECK(c.status().reason() == "ENTRY_NOT_FOUND");
  CHECK(c.status().message() == "the program has no function 'h'; it has: f, g");
  CHECK_FALSE(Canonicalise(p, "relu").ok());
}

TEST_CASE("canonical: trees as tall as the limit") {
  std::string sum = "x", chain = "x", power = "x";
  for (int i = 0; i < 2000; ++i) {
    sum += " + x";
    power += " ** x";
    if (i < 1900) chain += " < x";
  }
  CHECK(TextOf("fn f(x: f64) -> f64 { return " + sum + " }").size() > 10000);
  CHECK(TextOf("fn f(x: f64) -> f64 { return " + power + " }").size() > 10000);
  CHECK(TextOf("fn f(x: f64) -> bool { return " + chain + " }").size() > 10000);
}

TEST_CASE("dump: the tree with types") {
  std::string dump =
      DumpAst(MustCheck("fn f(x: [n]f64) -> f64 { return sum i < n { 2 * x[i] } }"), "f");
  CHECK(dump.find("fn f: f64\n  parameter x: [*]f64\n  size n: i64\n  index i: i64\n") == 0);
  CHECK(dump.find("comprehension sum: f64") != std::string::npos);
  CHECK(dump.find("int 2: f64") != std::string::npos);
}

}  // namespace
}  // namespace pullback::lang
