// gen, sum, prod, max, min: tensor statements, guards, lifting, the fallbacks.
#include <cmath>

#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

TEST_CASE("comprehensions: binders of one statement merge", "[lower]") {
  const std::string conv = R"(
fn f(x: [n]f64, c: [m]f64) -> [n - m + 1]f64 {
  return gen i < n - m + 1 { sum j < m { x[i + j] * c[j] } }
})";
  const std::string ir = Ir(conv);
  CHECK(Count(ir, "each(") == 1);
  CHECK(Has(ir, "index %x[%i + %j]"));
  CHECK(Has(ir, "} sum [%i] of (%0)"));
  CHECK_FALSE(Has(ir, "check"));
  CHECK(Elements(conv, {Vec({1, 2, 3, 4}), Vec({1, 1})}) == std::vector<double>{3, 5, 7});

  CHECK(Count(Ir("fn f(a: [n, m]f64) -> f64 { return max i < n { max j < m { a[i, j] } } }"),
              "each(") == 1);
  CHECK(Count(Ir("fn f(a: [n, m]f64) -> [n, m]f64 { return gen i < n { gen j < m { 2.0 * a[i, j] } "
                 "} }"),
              "each(") == 1);
}

TEST_CASE("comprehensions: products over several indices are products of rows", "[lower]") {
  const auto of = [](const std::string& body) {
    return "fn f(a: [n, m]f64) -> f64 { return " + body + " }";
  };
  const std::string nested = of("prod i < n { prod j < m { a[i, j] } }");
  CHECK(Count(Ir(nested), "each(") == 2);
  CHECK(Has(Ir(nested), "} prod [%i] of (%n)"));
  CHECK(Has(Ir(nested), "} prod []"));
  for (const std::string& text : {nested, of("prod i < n, j < m { a[i, j] }"), of("prod(a)")}) {
    CHECK(NumberOf(text, {Mat(2, 3, {1, 2, 3, 4, 5, 6})}) == 720);
    CHECK(NumberOf(text, {Mat(0, 3, {})}) == 1);
    CHECK(NumberOf(text, {Mat(3, 0, {})}) == 1);
  }
  CHECK(NumberOf(of("sum k < 2 { prod i < n, j < m { if j < i { a[i, j] } else { 1.0 } } }"),
                 {Mat(2, 2, {2, 3, 5, 7})}) == 10);
  // Integers have no adjoint to hold rows for.
  CHECK(Count(Ir("fn f(a: [n, m]i64) -> i64 { return prod i < n, j < m { a[i, j] } }"), "each(") ==
        1);
}

TEST_CASE("comprehensions: another monoid inside is lifted", "[lower]") {
  const std::string text =
      "fn f(a: [n, m]f64) -> f64 { return max i < n { sum j < m { a[i, j] } } }";
  const std::string ir = Ir(text);
  CHECK(Has(ir, "} sum [%i] of (%n)"));
  CHECK(Has(ir, "} max []"));
  CHECK(NumberOf(text, {Mat(2, 2, {1, 2, 3, 4})}) == 7);
}

TEST_CASE("comprehensions: a sum inside an expression is lifted", "[lower]") {
  const std::string text = R"(
fn f(x: [n]f64, a: [n, m]f64) -> [n]f64 { return gen i < n { x[i] * sum j < m { a[i, j] } } })";
  CHECK(Count(Ir(text), "each(") == 2);
  CHECK(Elements(text, {Vec({1, 2}), Mat(2, 3, {1, 2, 3, 4, 5, 6})}) == std::vector<double>{6, 30});
  // One that does not depend on the index is computed once.
  const std::string softmax =
      "fn f(x: [n]f64) -> [n]f64 { return gen i < n { exp(x[i]) / sum j < n { exp(x[j]) } } }";
  CHECK(Has(Ir(softmax), "} sum []"));
  CHECK(Elements(softmax, {Vec({0, 0})}) == std::vector<double>{0.5, 0.5});
  CHECK(Has(Ir("fn f(x: [n]f64) -> [n]f64 { return gen i < n { sum j < n { x[j] } } }"), "sum []"));
  // What it reads of the bodies around it is copied along.
  const std::string deep = R"(
fn f(x: [n]f64) -> f64 {
  return sum i < n {
    let a = x[i]
    a * sum j < n { let b = x[j] * a; b * sum k < n { x[k] * b * a } }
  }
})";
  CHECK(NumberOf(deep, {Vec({1, 2})}) == 255);
}

TEST_CASE("comprehensions: expensive values are not computed again and again", "[lower]") {
  const std::string outer =
      "fn f(x: [n]f64, y: [m]f64) -> [n, m]f64 { return gen i < n { let s = exp(x[i]); gen j < m { "
      "s * y[j] } } }";
  CHECK(Count(Ir(outer), "exp") == 1);
  CHECK(Has(Ir(outer), "index %0[%i]"));
  CHECK(Elements(outer, {Vec({0, 0}), Vec({1, 2})}) == std::vector<double>{1, 2, 1, 2});
  const std::string call = R"(
fn g(x: f64) -> f64 { var s = x; for i < 3 { s = s * x } return s }
fn f(x: [n]f64, y: [m]f64) -> [n]f64 {
  return gen i < n { let s = g(x[i]); 1.0 + s * sum j < m { s * y[j] } }
})";
  CHECK(Count(Ir(call), "call") == 1);
  CHECK(Elements(call, {Vec({1, 2}), Vec({1, 2})}) == std::vector<double>{4, 769});
}

TEST_CASE("comprehensions: ranges that depend on indices", "[lower]") {
  const std::string lower = "fn f(a: [n, n]f64) -> f64 { return sum i < n, j < i + 1 { a[i, j] } }";
  CHECK(Has(Ir(lower), "each(i < %n, j < %n) where (%j <= %i)"));
  CHECK(NumberOf(lower, {Mat(2, 2, {1, 2, 3, 4})}) == 8);
  CHECK(NumberOf("fn f(a: [n, n]f64) -> f64 { return sum i < n { sum j in i..n { a[i, j] } } }",
                 {Mat(2, 2, {1, 2, 3, 4})}) == 7);
  CHECK(NumberOf("fn f(a: [n, n]f64) -> f64 { return sum i < n, j < i - 1 { a[i, j] } }",
                 {Mat(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9})}) == 7);
  CHECK(Elements("fn f(n: i64, m: i64) -> [m]i64 { return gen i in n..n + m { i * i } }",
                 {I64(3), I64(2)}) == std::vector<double>{9, 16});
  // Read from data: a loop, whose work is that of the program.
  const std::string csr = R"(
fn f(v: [z]f64, c: [z]i64, r: [n + 1]i64, x: [m]f64) -> [n]f64 {
  return gen i < n { sum p in r[i]..r[i + 1] { v[p] * x[c[p]] } }
})";
  CHECK(Elements(csr, {Vec({1, 2, 3}), IntVec({0, 1, 1}), IntVec({0, 2, 3}), Vec({10, 100})}) ==
        std::vector<double>{210, 300});
}

// Over one pair of ends, restricted by the others.
TEST_CASE("comprehensions: ranges between extrema", "[lower]") {
  const auto over = [](const std::string& range, const std::string& before = "",
                       const std::string& reduce = "sum") {
    return "fn f(x: [n]f64, k: i64) -> f64 { return sum i < n { " + before + reduce + " j in " +
           range + " { x[i] * x[j] + 1.0 } } }";
  };
  CHECK(Has(Ir(over("max(0, i - 2)..min(n, i + 3)")),
            "each(i < %n, j < 5) where (2 <= %i + %j and %i + %j <= %n + 1)"));
  CHECK(Has(Ir(over("max(0, i - 2)..i")), "each(i < %n, j < 2) where (2 <= %i + %j)"));
  CHECK(Has(Ir(over("0..min(n, i + 3)")), "each(i < %n, j < %n) where (%j <= %i + 2)"));
  struct Ends {
    const char *lo, *hi;
    const char* before = "";
  };
  for (const Ends& r :
       {Ends{"max(0, i - 2)", "min(n, i + 3)"}, Ends{"max(0, i - 2)", "i"},
        Ends{"i", "min(n, i + 2)"}, Ends{"max(i - 1, 0) + 1", "n"}, Ends{"0", "min(i, 3)"},
        Ends{"max(1, i)", "min(n, min(i + 2, 2 * i))"}, Ends{"max(max(0, i - 2), i - 1)", "n"},
        Ends{"max(0, i - 3)", "min(n, i - 1)"},
        Ends{"lo", "hi", "let lo = max(0, i - 1); let hi = min(n, i + 1); "}}) {
    const std::string lo = r.lo, hi = r.hi;
    for (const std::string reduce : {"sum", "prod", "max"}) {
      const std::string text = over(lo + ".." + hi, r.before, reduce);
      const std::string none = reduce == "sum" ? "0.0" : reduce == "prod" ? "1.0" : "-1.0 / 0.0";
      const std::string same = "fn f(x: [n]f64, k: i64) -> f64 { return sum i < n { " +
                               std::string(r.before) + reduce + " j < n { if " + lo +
                               " <= j and j < " + hi + " { x[i] * x[j] + 1.0 } else { " + none +
                               " } } } }";
      INFO(text);
      CHECK_FALSE(Has(Ir(text), "br "));
      for (const std::vector<double>& x :
           {std::vector<double>{}, {2}, {1, 3}, {1, -2, 3, 5, 2, -1, 4}}) {
        for (const int64_t k : {-1, 0, 2}) {
          const std::vector<Tensor> args = {Vec(x), I64(k)};
          CHECK(NumberOf(text, args) == NumberOf(same, args));
        }
      }
    }
  }
  CHECK(Has(Ir(over("min(i, 2)..n")), "br "));  // the other extremum
  // A reviewer's: what may be anything may wrap beside others.
  for (const int64_t k : {INT64_MIN, INT64_MIN + 1, int64_t{-1}, int64_t{2}, INT64_MAX}) {
    INFO(k);
    const std::vector<Tensor> args = {Vec({1, 2, 3}), I64(k)};
    CHECK(NumberOf(over("max(k, i)..i + 1"), args) == (k == 2 ? 10 : k < 2 ? 17 : 0));
    if (k >= -1) CHECK(NumberOf(over("i..min(i + 1, k)"), args) == (k == 2 ? 7 : k < 2 ? 0 : 17));
  }
}

TEST_CASE("comprehensions: gathers", "[lower]") {
  const std::string text = "fn f(x: [n]f64, k: [m]i64) -> f64 { return sum i < m { x[k[i]] } }";
  CHECK(Count(Ir(text), "each(") == 1);
  CHECK(NumberOf(text, {Vec({1, 2, 3}), IntVec({0, 1, 2, 2})}) == 9);
}

TEST_CASE("brackets: guard their whole product", "[lower]") {
  const std::string gen =
      "fn f(u: [n]f64) -> [n]f64 { return gen i < n { u[i - 1] * [i > 0] - 2.0 * u[i] + [i + 1 < "
      "n] * u[i + 1] } }";
  CHECK(Has(Ir(gen), "index %u[%i - 1] if %1"));
  CHECK(Elements(gen, {Vec({1, 2, 4})}) == std::vector<double>{0, 1, -6});
  const std::string sum =
      "fn f(a: [n, n]f64) -> f64 { return sum i < n, j < n { a[i, j] * ([j < i] * 2.0) } }";
  CHECK(Has(Ir(sum), "where (%j < %i)"));
  CHECK(NumberOf(sum, {Mat(2, 2, {1, 2, 3, 4})}) == 6);
  // Alone, and several.
  CHECK(NumberOf("fn f(n: i64) -> i64 { return sum i < n { [i % 2 == 0] } }", {I64(5)}) == 3);
  CHECK(
      NumberOf("fn f(x: [n]f64) -> f64 { return sum i < n { [i > 0] * -x[i] * [x[i - 1] > 0.0] } }",
               {Vec({1, 2, -3, 4})}) == 1);
  CHECK(Elements("fn f(x: [n]f64, c: f64) -> [n]f64 { return gen i < n { c * [x[i] > 0.0] } }",
                 {Vec({1, -1}), F64(7)}) == std::vector<double>{7, 0});
  CHECK(std::isinf(
      NumberOf("fn f(x: [n]f64) -> f64 { return sum i < n { [x[i] > 0.0] * log(x[i] - 1.0) } }",
               {Vec({-1, 1})})));
}

TEST_CASE("brackets: in statements they are control flow", "[lower]") {
  const std::string text =
      "fn f(x: [n]f64, i: i64) -> f64 { return 1.0 + [0 <= i < n] * x[i] * 2.0 }";
  CHECK(NumberOf(text, {Vec({1, 2}), I64(1)}) == 5);
  CHECK(NumberOf(text, {Vec({1, 2}), I64(2)}) == 1);
  CHECK(Has(Ir("fn f(x: f64, c: bool) -> f64 { return [c] * x }"), "select"));
  CHECK(NumberOf("fn f(x: f64) -> i64 { return [x > 0.0] - [x < 0.0] }", {F64(-3)}) == -1);
  // NaN does not leak through.
  CHECK(NumberOf("fn f(x: f64) -> f64 { return [x > 0.0] * sqrt(x) }", {F64(-1)}) == 0);
}

TEST_CASE("brackets: a dividend's guard the divisor, a divisor's only that", "[lower]") {
  const std::string of = "fn f(a: i64, b: i64, c: bool) -> i64 { return ";
  const auto run = [&](const std::string& value, int64_t a, int64_t b, bool c) {
    return NumberOf(of + value + " }", {I64(a), I64(b), Tensor::Bool(c)});
  };
  for (const std::string value : {"[b != 0] * a / b", "a * [b != 0] / b", "-(-[b != 0] * a / b)",
                                  "[c] * ([b != 0] * a / b)", "[c] * a / b * [b != 0] / [c]"}) {
    INFO(value);
    CHECK(run(value, 7, 2, true) == 3);
    CHECK(run(value, -7, 2, true) == -3);
    CHECK(run(value, 7, 0, true) == 0);
  }
  CHECK(run("[b != 0] / b", 7, 1, true) == 1);
  CHECK(run("[b != 0] / b", 7, 0, true) == 0);
  CHECK(run("[c] * a / b * b", 7, 2, true) == 6);  // as written: ((c a) / b) b
  CHECK(run("b * (a / ([c] * b))", 7, 2, true) == 6);
  // Nothing guards a dividend from its divisor, or a sum from a summand.
  for (const std::string value :
       {"a / ([c] * b)", "(a + [c] * a) / b * [c]", "a / b * [c] / [c]"}) {
    INFO(value);
    CHECK(run(value, 4, 4, true) > 0);
  }
  CHECK(TrapOf(of + "a / ([c] * b) }", {I64(7), I64(2), Tensor::Bool(false)}) ==
        TrapPlace{ir::TrapKind::kDivideByZero, 0, 0, "a / ([c] * b)"});
  CHECK(TrapOf(of + "[c] * a / b }", {I64(7), I64(0), Tensor::Bool(true)}) ==
        TrapPlace{ir::TrapKind::kDivideByZero, 0, 0, "[c] * a / b"});
  // Floats: 0 and no NaN, not the sign of the divisor; the same bits where the bracket holds.
  const std::string text = "fn f(x: f64, y: f64) -> f64 { return 1.0 / ([y > 0.0] * x / y * x) }";
  CHECK(NumberOf(text, {F64(0.3), F64(0.7)}) == 1.0 / (0.3 / 0.7 * 0.3));
  CHECK(NumberOf(text, {F64(0.3), F64(-0.7)}) == HUGE_VAL);
  CHECK(NumberOf("fn f(x: f64) -> f64 { return [x != 0.0] / x }", {F64(0)}) == 0);
  CHECK(Has(Ir("fn f(x: f64, y: f64, c: bool) -> f64 { return [c] * x / y }"), "br "));
}

TEST_CASE("brackets: quotients in bodies", "[lower]") {
  const std::string gen =
      "fn f(x: [n]f64, y: [n]f64) -> [n]f64 {\n"
      " return gen i < n { [i > 0] * x[i - 1] / y[i - 1] * 2.0 } }";
  CHECK(Elements(gen, {Vec({3, 4, 5}), Vec({2, 0, 0})})[1] == 3);
  CHECK(Count(Ir(gen), "each(") == 1);
  CHECK_FALSE(Has(Ir(gen), "jump"));
  const std::string sum =
      "fn f(k: [n]i64, l: [n]i64) -> i64 { return sum i < n { [l[i] != 0] * k[i] / l[i] } }";
  CHECK(NumberOf(sum, {IntVec({7, 3, -5}), IntVec({2, 0, 2})}) == 1);
  const std::string range =
      "fn f(x: [n]f64, y: [n]f64) -> f64 { return sum i < n { [i + 1 < n] * x[i] / y[i + 1] } }";
  CHECK(Has(Ir(range), "where"));
  CHECK(NumberOf(range, {Vec({3, 4, 5}), Vec({0, 2, 8})}) == 2);
  for (const std::string reduction : {"max", "prod", "min", "scan max", "exscan sum"}) {
    INFO(reduction);
    const bool scan = reduction.size() > 4;
    const std::string body = reduction + " i < n { [i > 0] * x[i - 1] / y[i - 1] }";
    const std::string text =
        "fn f(x: [n]f64, y: [n]f64) -> f64 { return " + (scan ? "sum(" + body + ")" : body) + " }";
    const double value = NumberOf(text, {Vec({3, 4, 5}), Vec({2, -4, 0})});
    CHECK(value == (reduction == "max"        ? 1.5
                    : reduction == "scan max" ? 3
                    : reduction == "prod"     ? 0
                    : reduction == "min"      ? -1
                                              : 1.5));
  }
  const std::string every =
      "fn f(k: [n]i64) -> i64 { return [and i < n { [k[i] != 0] * 6 / k[i] < 4 }] }";
  CHECK(NumberOf(every, {IntVec({0, 2, 3})}) == 1);
}

TEST_CASE("brackets: in front of sums", "[lower]") {
  const std::string text = R"(
fn f(x: [n]f64) -> [n]f64 {
  return gen i < n { [i > 0] * sum j < n { [j < i] * x[j] / x[i - 1] } }
})";
  CHECK(Count(Ir(text), "each(") == 1);
  CHECK(Elements(text, {Vec({1, 2, 4})}) == std::vector<double>{0, 1, 1.5});
  const std::string data = R"(
fn f(x: [n]f64, k: [n]i64) -> [n]f64 {
  return gen i < n { [k[i] >= 0] * x[i] * sum j < n { x[j] * x[k[i]] } }
})";
  CHECK(Elements(data, {Vec({1, 2}), IntVec({-1, 0})}) == std::vector<double>{0, 6});
}

TEST_CASE("bodies: if-expressions are guarded", "[lower]") {
  const std::string text =
      "fn f(x: [n]f64) -> [n]f64 { return gen i < n { if i == 0 { 0.0 } else { x[i - 1] } } }";
  CHECK(Count(Ir(text), "each(") == 1);
  CHECK_FALSE(Has(Ir(text), "call"));
  CHECK(Elements(text, {Vec({1, 2, 3})}) == std::vector<double>{0, 1, 2});
  CHECK(Elements(R"(
fn f(x: [n]f64) -> [n]f64 {
  return gen i < n {
    let y = if x[i] > 1.0 { let r = sqrt(x[i]); r * r }
            else if i > 0 and x[i - 1] > 1.0 { x[i - 1] }
            else { -1.0 }
    2.0 * y
  }
})",
                 {Vec({0, 4, 1, 1})}) == std::vector<double>{-2, 8, 8, -2});
}

TEST_CASE("bodies: control flow becomes a function", "[lower]") {
  const std::string text = R"(
fn f(x: [n]f64, m: i64) -> [n]f64 {
  return gen i < n {
    var s = 1.0
    var k = 0
    while k < m { s = s * x[i]; k += 1 }
    s + f64(i)
  }
})";
  const std::string ir = Ir(text);
  CHECK(Has(ir, "call @f.body0(%m, %i, "));
  CHECK(Has(ir, "fn @f.body0(%m: i64, %i: i64, %x: f64) -> (f64)"));
  CHECK(Elements(text, {Vec({2, 3}), I64(3)}) == std::vector<double>{8, 28});
  // Inside another binder, merged.
  CHECK(NumberOf(R"(
fn f(n: i64) -> i64 {
  return sum i < n, j < n { var c = 0; for k < 10 { if k == i { break }  c += j } c }
})",
                 {I64(3)}) == 9);
}

TEST_CASE("bodies: what reads arrays in loops becomes a loop nest", "[lower]") {
  const std::string text = R"(
fn f(x: [n]f64, a: [n, m]f64) -> [n]f64 {
  return gen i < n { var s = x[i]; for j < m { s = s * a[i, j] + 1.0 } s }
})";
  CHECK_FALSE(Has(Ir(text), "each("));
  CHECK_FALSE(Has(Ir(text), "check %1, size_mismatch, %3"));
  CHECK(Elements(text, {Vec({1, 2}), Mat(2, 2, {1, 2, 3, 4})}) == std::vector<double>{5, 29});
  for (const auto& [word, value] : std::vector<std::pair<std::string, double>>{
           {"sum", 34}, {"prod", 145}, {"max", 29}, {"min", 5}}) {
    CHECK(NumberOf("fn f(x: [n]f64, a: [n, m]f64) -> f64 { return " + word +
                       " i < n { var s = x[i]; for j < m { s = s * a[i, j] + 1.0 } s } }",
                   {Vec({1, 2}), Mat(2, 2, {1, 2, 3, 4})}) == value);
  }
}

TEST_CASE("bodies: arrays", "[lower]") {
  CHECK(Count(Ir("fn f(a: [n, m]f64) -> [m]f64 { return sum i < n { 2.0 * a[i, :] } }"), "each(") ==
        1);
  CHECK(Elements("fn f(a: [n, m]f64) -> [m]f64 { return sum i < n { 2.0 * a[i, :] } }",
                 {Mat(2, 2, {1, 2, 3, 4})}) == std::vector<double>{8, 12});
  CHECK(Elements("fn f(x: [n]f64) -> [n, 2]f64 { return gen i < n { [x[i], -x[i]] } }",
                 {Vec({1, 2})}) == std::vector<double>{1, -1, 2, -2});
  CHECK(Elements("fn f(a: [n, m]f64, b: [m, k]f64) -> [n, k]f64 { return gen i < n { a[i] @ b } }",
                 {Mat(2, 2, {1, 2, 3, 4}), Mat(2, 2, {1, 0, 1, 1})}) ==
        std::vector<double>{3, 2, 7, 4});
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { return sum i < n { let y = gen j < n { x[j] * x[i] }; "
                 "y[i] + y[0] } }",
                 {Vec({1, 2})}) == 1 + 4 + 1 + 2);
  // Of loops: a copy, element by element.
  const std::string rows =
      "fn f(a: [n, m]f64) -> [n, m]f64 { return gen i < n { cumsum(a[i, :]) } }";
  CHECK_FALSE(Has(Ir(rows), "check"));
  CHECK(Elements(rows, {Mat(2, 2, {1, 2, 3, 4})}) == std::vector<double>{1, 3, 3, 7});
  CHECK(Elements("fn f(a: [n, m]f64) -> [m]f64 { return sum i < n { cumsum(a[i, :]) } }",
                 {Mat(2, 2, {1, 2, 3, 4})}) == std::vector<double>{4, 10});
  CHECK(Elements(R"(
fn half(x: [n]f64) -> [n / 2]f64 { var y = x; y[0] = 1.0; return y[0:n / 2] }
fn f(a: [n, m]f64) -> [n, m / 2]f64 { return gen i < n { half(a[i, :]) } })",
                 {Mat(2, 4, {1, 2, 3, 4, 5, 6, 7, 8})}) == std::vector<double>{1, 2, 1, 6});
}

TEST_CASE("bodies: calls", "[lower]") {
  // Of scalars: the body calls; of arrays, straight-line: inlined.
  CHECK(
      Has(Ir("fn f(x: [n]f64) -> [n]f64 { return gen i < n { sigmoid(x[i]) } }"), "call @sigmoid"));
  const std::string dots =
      "fn f(a: [n, k]f64, b: [k]f64) -> [n]f64 { return gen i < n { dot(a[i, :], b) } }";
  CHECK(Count(Ir(dots), "each(") == 1);
  CHECK_FALSE(Has(Ir(dots), "call"));
  CHECK(Elements(dots, {Mat(2, 2, {1, 2, 3, 4}), Vec({1, 1})}) == std::vector<double>{3, 7});
  CHECK(Elements("fn f(x: [n]f64) -> [n]f64 { return gen i < n { x[i] / norm(x) } }",
                 {Vec({3, 4})}) == std::vector<double>{3.0 / 5, 4.0 / 5});
  CHECK(Elements(R"(
fn pair(x: f64) -> (f64, f64) { if x > 0.0 { return (x, 1.0) } return (-x, 2.0) }
fn f(x: [n]f64) -> [n]f64 { return gen i < n { let (a, b) = pair(x[i]); a * b } })",
                 {Vec({3, -4})}) == std::vector<double>{3, 8});
}

TEST_CASE("comprehensions: nothing, and of nothing", "[lower]") {
  const std::vector<Tensor> empty = {Vec({})};
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { return sum i < n { x[i] } }", empty) == 0);
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { return prod(x) }", empty) == 1);
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { return max(x) }", empty) == -INFINITY);
  CHECK(Elements("fn f(x: [n]f64) -> [n]f64 { return gen i < n { x[i] / x[0] } }", empty).empty());
  // A statement that is lifted from a body that never runs does not run.
  CHECK(Elements("fn f(x: [n]f64) -> [n]f64 { return gen i < n { x[i] / sum j < 3 { x[j] } } }",
                 empty)
            .empty());
  CHECK(Elements(
            "fn f(x: [n]f64, m: i64) -> [n]f64 { return gen i < n { x[i] + sum j < m { 1.0 } } }",
            {Vec({}), I64(-1)})
            .empty());
}

TEST_CASE("comprehensions: reductions of one array", "[lower]") {
  const std::string text = "fn f(x: [n]f64, y: [n]f64) -> f64 { return sum(x * y) }";
  CHECK(Count(Ir(text), "each(") == 1);
  CHECK(NumberOf(text, {Vec({1, 2}), Vec({3, 4})}) == 11);
  CHECK(NumberOf("fn f(a: [n, m]f64) -> f64 { return min(a @ a.T) }", {Mat(2, 2, {1, 2, 3, 4})}) ==
        5);
  CHECK(NumberOf("fn f(a: [n, m]f64) -> f64 { return sum i < n { max(a[i, :]) } }",
                 {Mat(2, 2, {1, 2, 3, 4})}) == 6);
}

TEST_CASE("comprehensions: what is lifted out of one without points has no size to trap by",
          "[lower]") {
  const std::string terms = "gen j in 4..c { y[0] }";
  for (const std::string& row :
       {std::string("sum(scan sum j in 4..c { y[0] })"),
        std::string("max(scan prod j in 4..c { y[0] * f64(i + 1) })"),
        "sum(scan_linear(" + terms + ", " + terms + "))", "(" + terms + ") @ (" + terms + ")"}) {
    const std::string text =
        "fn f(y: [m]f64, c: i64, z: i64) -> f64 { return sum i < z { " + row + " } }";
    INFO(text);
    CHECK(NumberOf(text, {Vec({1}), I64(1), I64(0)}) == 0);
    CHECK(TrapOf(text, {Vec({1}), I64(1), I64(2)}).kind == ir::TrapKind::kNegativeSize);
    CHECK(NumberOf(text, {Vec({1}), I64(6), I64(2)}) > 0);
  }
}

}  // namespace
}  // namespace pullback::lang
