// The small programs that break differentiation systems: what they compute, before any derivative.
// The numbers are those of the list they come from.
#include <cmath>

#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

TEST_CASE("first tests: control flow", "[lower][first]") {
  const std::string fixed_point = R"(  # 3
fn f(z: f64) -> f64 {
  var x = 1.0
  var y = 1.0 + z
  while abs(x - y) > 1e-6 { y, x = (x + y) / 2.0, y }
  return y
})";
  const double step = 1.0 / 1024;
  CHECK(NumberOf(fixed_point, {F64(1024 + step)}) - NumberOf(fixed_point, {F64(1024)}) ==
        Approx(715827883.0 / 1073741824.0 * step).epsilon(1e-6));
  CHECK(NumberOf("fn f(x: f64) -> f64 { return 3.0 * x; let y = x * x; return y }", {F64(2)}) ==
        6);  // 4
  const std::string squares = R"(  # 6
fn f(x: f64) -> f64 { var s = 0.0; while true { s += x * x; if s > 2.0 { break } } return s })";
  CHECK(NumberOf(squares, {F64(1.1)}) == Approx(2.42));
  CHECK(NumberOf(R"(  # 8
fn f(x: f64) -> f64 { var acc = 5.0; for i < 3 { acc += x } return acc * acc })",
                 {F64(2)}) == 121);
  const std::string nested = R"(  # 10
fn pow(x: f64, n: i64) -> f64 { if n == 0 { return 1.0 } return x * pow(x, n - 1) }
fn even(x: f64, n: i64) -> f64 { if n == 0 { return x } return 2.0 * odd(x, n - 1) }
fn odd(x: f64, n: i64) -> f64 { if n == 0 { return -x } return 3.0 * even(x, n - 1) }
fn f(x: f64) -> f64 { return pow(x, 3) + even(x, 3) })";
  CHECK(NumberOf(nested, {F64(2)}) == 8 - 24);
  const std::string bounded = R"(  # 39
fn f(x: f64, bound: i64) -> f64 {
  var y = x
  for i < bound { y = y * x; if y > 1.0 { break } }
  return y
})";
  CHECK(NumberOf(bounded, {F64(2), I64(1000000000000)}) == 4);
}

TEST_CASE("first tests: corners", "[lower][first]") {
  const std::string root =
      "fn f(x: f64) -> f64 { return if x > 0.0 { sqrt(x) } else { 0.0 } }";  // 12
  CHECK(NumberOf(root, {F64(0)}) == 0);
  CHECK(NumberOf(root, {F64(-1)}) == 0);
  CHECK(Elements(R"(
fn f(x: [n]f64) -> [n]f64 { return gen i < n { if x[i] > 0.0 { sqrt(x[i]) } else { 0.0 } } })",
                 {Vec({4, 0, -1})}) == std::vector<double>{2, 0, 0});
  const std::string select =
      "fn f(b: f64, x: f64) -> f64 { return select(false, b * x, 1.0) }";  // 13
  CHECK(NumberOf(select, {F64(2), F64(NAN)}) == 1);
  CHECK(NumberOf("fn f(x: f64) -> f64 { return sqrt(x ** 2) }", {F64(0)}) == 0);          // 14
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { return norm(x) ** 2 }", {Vec({0, 0})}) == 0);  // 15
  CHECK(NumberOf(R"(
fn f(x: f64) -> f64 { return sum k < 3 { x ** k } })",
                 {F64(0)}) == 1);  // 16
  CHECK(NumberOf("fn f(x: f64) -> f64 { return x ** 3 }", {F64(-2)}) == -8);
  CHECK(NumberOf("fn f(x: f64, y: f64) -> f64 { return x ** y }", {F64(4), F64(0)}) == 1);     // 17
  CHECK(NumberOf("fn f(x: f64, y: f64) -> f64 { return max(x, y) }", {F64(3), F64(3)}) == 3);  // 18
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { return prod(x) }", {Vec({5, 0, 6})}) == 0);         // 19
  const std::string nested = "fn f(x: f64) -> f64 { return 1.0 - x ** 2 - (x - 0.5) ** 2 }";   // 34
  CHECK(NumberOf(nested, {F64(1)}) == -0.25);
  CHECK(NumberOf("fn f(x: f64, y: f64) -> f64 { return fmod(x, y) }", {F64(7), F64(2)}) ==
        1);  // 37
  CHECK(NumberOf("fn f(x: f64, unused: [n]f64) -> f64 { return x }", {F64(7), Vec({1})}) ==
        7);  // 35
}

TEST_CASE("first tests: arrays", "[lower][first]") {
  const std::string product = R"(  # 20
fn f(x: [4]f64) -> f64 {
  let a = [[5.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
  return sum(a @ x)
})";
  CHECK(NumberOf(product, {Vec({1, 2, 3, 4})}) == 12);
  const std::string gather = R"(  # 21
fn f(x: [3]f64) -> f64 { let k = [0, 1, 2, 2]; return sum i < len(k) { x[k[i]] } })";
  CHECK(NumberOf(gather, {Vec({1, 10, 100})}) == 211);
  const std::string twice = R"(  # 22
fn f(a: f64, b: f64) -> f64 { var y = zeros(1); y[0] = a; y[0] = b; return y[0] })";
  CHECK(NumberOf(twice, {F64(1), F64(2)}) == 2);
  const std::string square = R"(  # 23
fn f(x: [2]f64) -> (f64, [2]f64) { var y = x; y[0] = y[0] * y[0]; return (y[0] * y[1], x) })";
  const std::vector<Tensor> r = Values(square, {Vec({3, 5})});
  CHECK(Doubles(r[0]) == std::vector<double>{45});
  CHECK(Doubles(r[1]) == std::vector<double>{3, 5});
  const std::string old = R"(  # 24
fn f(a: [n, m]f64, x: [m]f64) -> f64 {
  var z = x
  let y = a @ z
  for i < m { z[i] = 0.0 }
  return sum(y) + sum(z)
})";
  CHECK(NumberOf(old, {Mat(2, 2, {1, 2, 3, 4}), Vec({1, 10})}) == 64);
  const std::string alias = R"(  # 25
fn g(a: [n]f64, b: [n]f64) -> f64 { return sum(a * b) }
fn f(x: [n]f64) -> f64 { return g(x, x) })";
  CHECK(NumberOf(alias, {Vec({1, 2, 3})}) == 14);
  const std::string map = R"(  # 28
fn f(a: f64, d: f64) -> f64 { return sum i in 1..4 { if i == 1 { a } else { d } } })";
  CHECK(NumberOf(map, {F64(5), F64(7)}) == 19);
  const std::string captured =
      "fn f(x: [n]f64, y: [1]f64) -> f64 { return sum(x ** 2 + y[0]) }";  // 29
  CHECK(NumberOf(captured, {Vec({1, 2, 3}), Vec({10})}) == 44);
  const std::string column = "fn f(x: [n, 1]f64, y: [n, m]f64) -> f64 { return sum(x * y) }";  // 30
  CHECK(NumberOf(column, {Mat(2, 1, {1, 10}), Mat(2, 2, {1, 2, 3, 4})}) == 73);
  CHECK(NumberOf("fn f(x: [n]f64) -> i64 { return sum(i64(x > 0.0)) }", {Vec({1, -1, 2})}) == 2);
  const std::string two = R"(  # 31
fn g(x: f64) -> (f64, f64) { return (x * x, x * x * x) }
fn f(x: [n]f64) -> f64 { let (a, b) = g.(x); return sum(a) + sum(b) })";
  CHECK(NumberOf(two, {Vec({1, 2})}) == 14);
  CHECK(NumberOf("fn f(x: [n]f64) -> f64 { return sum(x) }", {Vec({})}) == 0);  // 35
  const std::string diagonal = R"(  # 38
fn f(x: [n]f64) -> f64 { let a = diag(x); return dot(a[:, 0], a[0, :]) })";
  CHECK(NumberOf(diagonal, {Vec({3, 5})}) == 9);
  const std::string poly = "fn f(c: [n]f64, x: f64) -> f64 { return polyval(c, x) }";
  CHECK(NumberOf(poly, {Vec({1, 2, 3}), F64(2)}) == 17);
}

}  // namespace
}  // namespace pullback::lang
