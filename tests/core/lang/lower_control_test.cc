// Statements and calls: control flow to blocks with arguments.
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

TEST_CASE("lowering: a while loop carries what its body assigns", "[lower]") {
  const std::string pow = R"(
fn f(x: f64, n: i64) -> f64 {
  var r = 1.0
  var k = n
  while k > 0 { k = k - 1; r = r * x }
  return r
})";
  CHECK(Has(Ir(pow), "b1(%r: f64, %k: i64):"));
  CHECK(NumberOf(pow, {F64(2), I64(3)}) == 8);
  CHECK(NumberOf(pow, {F64(2), I64(0)}) == 1);
}

TEST_CASE("lowering: block arguments are parallel copies", "[lower]") {
  CHECK(
      NumberOf("fn f(x: f64) -> f64 { var a, b = x, 2.0 * x; for i < 3 { a, b = b, a } return a }",
               {F64(3)}) == 6);
  CHECK(NumberOf(R"(
fn f(x: f64) -> f64 {
  var a = x; var b = 2.0 * x; var c = 3.0 * x
  for i < 4 { a, b, c = b, c, a }
  return a
})",
                 {F64(1)}) == 2);
}

TEST_CASE("lowering: code after a return is dropped", "[lower]") {
  const std::string text = "fn f(x: f64) -> f64 { return 3.0 * x; let y = x / 0.0; return y }";
  CHECK_FALSE(Has(Ir(text), "div"));
  CHECK(NumberOf(text, {F64(1)}) == 3);
  CHECK(NumberOf("fn f(x: f64) -> f64 { while true { if x > 1.0 { return x } return 2.0 } }",
                 {F64(0)}) == 2);
  const std::string endless = R"(
fn f(n: i64) -> i64 { var k = 0; while true { k += 1; if k * k > n { return k } } })";
  CHECK(NumberOf(endless, {I64(50)}) == 8);
  CHECK_FALSE(Has(Ir(endless), "true"));
}

TEST_CASE("lowering: if without else, else if, branches that return", "[lower]") {
  const std::string text = R"(
fn f(x: f64) -> f64 {
  var y = x
  if x > 0.0 { y = 2.0 * x } else if x < 0.0 { y = 3.0 * x }
  return y
})";
  CHECK(NumberOf(text, {F64(1)}) == 2);
  CHECK(NumberOf(text, {F64(-1)}) == -3);
  CHECK(NumberOf(text, {F64(0)}) == 0);
  const std::string one_side = R"(
fn f(x: f64) -> f64 {
  var y = x
  if x > 1.0 { return 0.0 } else { y = y + 1.0 }
  return y
})";
  CHECK(NumberOf(one_side, {F64(2)}) == 0);
  CHECK(NumberOf(one_side, {F64(1)}) == 2);
  CHECK_FALSE(Has(Ir(one_side), "%y.1: f64"));  // one way leads on: nothing to join
}

TEST_CASE("lowering: break and continue", "[lower]") {
  CHECK(NumberOf(R"(
fn f(x: f64) -> f64 {
  var s = 0.0
  for i < 10 { s += x * x; if s > 2.0 { break } }
  return s
})",
                 {F64(1.1)}) == Approx(2.42));
  CHECK(NumberOf(R"(
fn f(x: f64) -> f64 {
  var s = 0.0
  for i < 4 { if i % 2 == 1 { continue }  s += f64(i) * x }
  return s
})",
                 {F64(3)}) == 6);
  CHECK(NumberOf(R"(
fn f(n: i64) -> i64 {
  var count = 0
  var i = 0
  while i < n {
    i += 1
    for j in 2..i {
      if i % j == 0 { break }
      if j * j > i { count += 1; break }
    }
  }
  return count
})",
                 {I64(30)}) == 9);
}

TEST_CASE("lowering: for evaluates its bounds once and may not run", "[lower]") {
  CHECK(NumberOf(
            "fn f(n: i64) -> i64 { var m = n; var s = 0; for i < m { m += 1; s += i } return s }",
            {I64(4)}) == 6);
  CHECK(NumberOf("fn f(n: i64) -> i64 { var s = 7; for i in 3..n { s = i } return s }",
                 {I64(-5)}) == 7);
  CHECK(NumberOf("fn f(n: i64) -> i64 { var s = 0; for i in n..n + 3 { s = s * 10 + i } return s }",
                 {I64(2)}) == 234);
}

TEST_CASE("lowering: a long chain of branches", "[lower]") {
  std::string text = "fn f(x: f64, k: i64) -> f64 {\n";
  for (int i = 0; i < 300; ++i) {
    text += (i == 0 ? "  if" : " else if");
    text += " k == " + std::to_string(i) + " { return " + std::to_string(i) + ".0 * x }";
  }
  text += "\n  return 0.0\n}";
  CHECK(NumberOf(text, {F64(2), I64(299)}) == 598);
  CHECK(NumberOf(text, {F64(2), I64(300)}) == 0);
}

TEST_CASE("lowering: and, or, not", "[lower]") {
  const std::string pure =
      "fn f(a: f64, b: f64) -> bool { return a > 0.0 and not (b > 0.0 or a < b) }";
  CHECK(Count(Ir(pure), "br ") == 0);
  CHECK(NumberOf(pure, {F64(1), F64(0)}) == 1);
  CHECK(NumberOf(pure, {F64(1), F64(1)}) == 0);
  // The right side is evaluated only when it matters.
  const std::string guarded = "fn f(x: [n]f64, i: i64) -> bool { return i < n and x[i] > 0.0 }";
  CHECK(NumberOf(guarded, {Vec({1, -1}), I64(0)}) == 1);
  CHECK(NumberOf(guarded, {Vec({1, -1}), I64(2)}) == 0);
  const std::string either =
      "fn f(x: [n]f64, i: i64) -> bool { return i >= n or not (x[i] > 0.0) }";
  CHECK(NumberOf(either, {Vec({1, -1}), I64(2)}) == 1);
  CHECK(NumberOf(either, {Vec({1, -1}), I64(0)}) == 0);
  const std::string branch = R"(
fn f(x: [n]f64, i: i64) -> f64 {
  if 0 <= i and i < n and x[i] > 0.0 { return x[i] }
  return -1.0
})";
  CHECK(NumberOf(branch, {Vec({5}), I64(0)}) == 5);
  CHECK(NumberOf(branch, {Vec({5}), I64(-3)}) == -1);
}

TEST_CASE("lowering: a chain of comparisons computes each operand once", "[lower]") {
  const std::string text = R"(
fn g(x: f64) -> f64 { return x * x }
fn f(x: f64, y: f64) -> bool { return 0.0 < g(x) < g(y) })";
  CHECK(Count(Ir(text), "call @g") == 2);
  CHECK(NumberOf(text, {F64(1), F64(2)}) == 1);
  CHECK(NumberOf(text, {F64(2), F64(1)}) == 0);
  CHECK(NumberOf("fn f(x: [n]f64) -> i64 { return sum i < n { [0.0 < x[i] <= 2.0] } }",
                 {Vec({-1, 1, 2, 3})}) == 2);
}

TEST_CASE("lowering: if as a value", "[lower]") {
  CHECK(Has(Ir("fn f(c: bool, a: f64, b: f64) -> f64 { return if c { a } else { b } }"), "select"));
  const std::string lazy = "fn f(k: i64, n: i64) -> i64 { return if k == 0 { 0 } else { n / k } }";
  CHECK_FALSE(Has(Ir(lazy), "select"));
  CHECK(NumberOf(lazy, {I64(0), I64(7)}) == 0);
  CHECK(NumberOf(lazy, {I64(2), I64(7)}) == 3);
  const std::string tuple = R"(
fn f(a: f64, b: f64) -> f64 {
  let (flag, z) = if a < b { (true, a * b) } else { (false, 2.0 * a) }
  return if flag { z * z } else { z * z * z }
})";
  CHECK(NumberOf(tuple, {F64(1), F64(2)}) == 4);
  CHECK(NumberOf(tuple, {F64(2), F64(1)}) == 64);
  CHECK(NumberOf(R"(
fn f(n: i64) -> f64 {
  let y = if n > 0 { var s = 0.0; for i < n { s += 2.0 } s } else { -1.0 }
  return y + 1.0
})",
                 {I64(3)}) == 7);
}

TEST_CASE("lowering: calls, recursion, tuples", "[lower]") {
  const std::string fib = R"(
fn f(n: i64) -> i64 { if n < 2 { return n } return f(n - 1) + f(n - 2) })";
  CHECK(NumberOf(fib, {I64(10)}) == 55);
  const std::string mutual = R"(
fn even(n: i64) -> bool { if n == 0 { return true } return odd(n - 1) }
fn odd(n: i64) -> bool { if n == 0 { return false } return even(n - 1) }
fn unused(x: f64) -> f64 { return x }
fn f(n: i64) -> bool { return even(n) })";
  CHECK(NumberOf(mutual, {I64(7)}) == 0);
  CHECK_FALSE(Has(Ir(mutual), "@unused"));
  const std::string swap = R"(
fn swap(p: (f64, (i64, f64))) -> ((i64, f64), f64) { return (p.1, p.0) }
fn f(x: f64, k: i64) -> (i64, f64, f64) {
  let q = swap((x, (k, 2.0 * x)))
  return (q.0.0, q.0.1, q.1)
})";
  CHECK(Has(Ir(swap), "fn @swap(%p.0: f64, %p.1: i64, %p.2: f64) -> (i64, f64, f64)"));
  const std::vector<Tensor> r = Values(swap, {F64(3), I64(5)});
  CHECK(Doubles(r[0])[0] == 5);
  CHECK(Doubles(r[1])[0] == 6);
  CHECK(Doubles(r[2])[0] == 3);
}

TEST_CASE("lowering: element updates in loops", "[lower]") {
  CHECK(Elements(R"(
fn f(x: f64) -> [5]f64 {
  var y = zeros(5)
  y[0] = x
  for i in 1..5 { y[i] = y[i - 1] + x }
  return y
})",
                 {F64(2)}) == std::vector<double>{2, 4, 6, 8, 10});
  // The sizes of an array of which only elements change are known.
  CHECK_FALSE(
      Has(Ir("fn f(x: [n]f64) -> [n]f64 { var y = x; for i < n { y[i] = 2.0 * y[i] } return y }"),
          "check"));
  // The argument stays what it was.
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { var y = x; y[0] = y[0] * y[0]; return x[0] * y[1] }",
                 {Vec({3, 5})}) == 15);
  CHECK(Elements("fn f(x: [2]f64) -> [2]f64 { var y = x; y[0], y[1] = y[1], y[0]; return y }",
                 {Vec({3, 5})}) == std::vector<double>{5, 3});
}

TEST_CASE("lowering: x[i] += e adds in place", "[lower]") {
  const std::string text = R"(
fn f(x: [n]f64, k: [m]i64) -> [n]f64 {
  var y = zeros(n)
  for i < m { y[k[i]] += x[k[i]]; y[0] -= 1.0; y[1] *= 2.0 }
  return y
})";
  CHECK(Count(Ir(text), "add_at") == 2);
  CHECK(Elements(text, {Vec({1, 2, 3}), IntVec({0, 1, 2, 2})}) == std::vector<double>{-3, 16, 6});
}

TEST_CASE("lowering: integers wrap, literals adapt, casts", "[lower]") {
  CHECK(NumberOf("fn f(k: i64) -> i64 { return k * 2 + 9223372036854775807 }", {I64(1)}) ==
        Approx(-9223372036854775807.0));
  CHECK(NumberOf("fn f(x: f32, k: i64) -> f32 { return 2 * x + f32(k) ** 2 }",
                 {Tensor::F32(1.5f), I64(3)}) == 12);
  CHECK(NumberOf("fn f(x: f64) -> i64 { return i64(x) % 4 }", {F64(-7.9)}) == -3);
  CHECK(NumberOf("fn f(x: f64) -> f64 { return -x ** 2 }", {F64(3)}) == -9);
  CHECK(NumberOf("fn f(x: f64) -> f64 { return fmod(x, 2.0) }", {F64(7)}) == 1);
}

TEST_CASE("lowering: a program that grows too large", "[lower]") {
  StatusOr<Program> program = Parse("fn f(x: f64) -> f64 { return x + x * x - x / (x + 1.0) }");
  REQUIRE(Check(*program).ok());
  Limits limits;
  limits.max_ir_insts = 3;
  CHECK(Lower(*program, "f", limits).status().reason() == "PROGRAM_TOO_LARGE");
  CHECK(Lower(*program, "g").status().reason() == "ENTRY_NOT_FOUND");
}

}  // namespace
}  // namespace pullback::lang
