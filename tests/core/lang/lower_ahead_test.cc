// What the body of a comprehension evaluates alike at every point is evaluated once, in front of the loop.
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

const std::string kFunctions = R"(
struct Walk { at: f64, v: [_]f64 }
fn fold(x: [n]f64, k: i64) -> [n]f64 { var y = x; for i < k { y[i % n] = y[i % n] * 0.5 + x[0] } return y }
fn soft(x: [n]f64, k: i64) -> [n]f64 { let s = slow(x[0], k); return gen i < n { x[i] - s } }
fn slow(a: f64, k: i64) -> f64 { var y = a; for i < k { y = y * 0.5 + a } return y }
fn walk(x: [n]f64, k: i64) -> Walk { let y = fold(x, k); return Walk(y[0], 2.0 * y) }
fn total(x: [n]f64, k: i64) -> f64 { return sum(fold(x, k)) }
fn steps(x: [n]f64, k: i64) -> list f64 {
  var s = list(x[0])
  for i < k { s = push(s, x[0] * f64(i)) }
  return s
}
fn positive(a: f64) -> f64 { if a > 0.0 { return a } return 0.0 }
fn forever(x: [n]f64) -> [n]f64 { var y = x; while true { y = x } return y }
fn beyond(x: [n]f64, k: i64) -> [n]f64 { var y = x; if k > 0 { y[n + k] = 0.0 } return y }
)";

// f(x: [n]f64, y: [m]f64, k: i64)
std::string AheadProgram(const std::string& result, const std::string& value) {
  return kFunctions + "fn f(x: [n]f64, y: [m]f64, k: i64) -> " + result + " { return " + value +
         " }\n";
}

Tensor Alike(int64_t count) { return Vec(std::vector<double>(static_cast<size_t>(count), 0.5)); }

// How many times as many steps 20 points take as one, where a call takes 1000.
double Growth(const std::string& text) {
  const auto steps = [&](int64_t points) {
    return static_cast<double>(RunText(text, {Alike(20), Alike(points), I64(1000)}).cost.steps);
  };
  return steps(20) / steps(1);
}

TEST_CASE("ahead: calls that no index changes are made once", "[lower]") {
  const std::pair<const char*, const char*> programs[] = {
      {"f64", "sum i < m { fold(x, k)[i] * y[i] }"},
      {"[m]f64", "gen i < m { fold(x, k)[i] * y[i] }"},
      {"f64", "prod i < m { fold(x, k)[i] * y[i] }"},
      {"f64", "max i < m { fold(x, k)[i] * y[i] }"},
      {"f64", "min i < m { fold(x, k)[i] * y[i] }"},
      {"i64", "argmax i < m { fold(x, k)[i] * y[i] }"},
      {"bool", "and i < m { fold(x, k)[i] > -1.0 - y[i] }"},
      {"bool", "exists i < m: fold(x, k)[i] > 9.0 + y[i]"},
      {"[m]f64", "scan sum i < m { fold(x, k)[i] * y[i] }"},
      // Functions without loops of their own, of scalars, of arrays, and what is made of these.
      {"f64", "sum i < m { soft(x, k)[i] * y[i] }"},
      {"f64", "sum i < m { slow(x[0], k) * y[i] }"},
      {"f64", "sum i < m { total(x, k) * y[i] }"},
      {"f64", "sum i < m { total(x, k) }"},
      {"f64", "sum i < m { slow(slow(x[1], 3), k) * y[i] }"},
      {"f64", "sum i < m { (2.0 * fold(x, k))[i] * y[i] }"},
      {"f64", "sum i < m { fold(x, k)[1:][i % 2] * y[i] }"},
      {"f64", "sum i < m { walk(x, k).v[i] * y[i] }"},
      {"f64", "sum i < m { steps(x, k)[i] * y[i] }"},
      {"f64", "sum i < m { (if k > 3 { fold(x, k) } else { x })[i] * y[i] }"},
      {"f64", "sum i < m { ([k > 3] * fold(x, k))[i] * y[i] }"},
      {"f64", "sum i < m { (sum j < 3 { fold(x, k)[j] }) * y[i] }"},
      {"f64", "sum i < m { if fold(x, k)[i] > 0.0 { y[i] } else { 1.0 } }"},
      {"f64", "sum i < m { if 0.0 < total(x, k) < y[i] { 2.0 } else { 1.0 } }"},
      // Lets.
      {"f64", "sum i < m { let z = fold(x, k); z[i] * y[i] }"},
      {"f64", "sum i < m { let z = 2.0 * x; fold(z, k)[i] * y[i] }"},
      {"f64", "sum i < m { let w = walk(x, k); w.v[i] * w.at * y[i] }"},
      {"f64", "sum i < m { var z = fold(x, k); z[i] = y[i]; z[i] + z[0] }"},
      {"f64", "sum i < m { var z = fold(x, k)[i]; while z > 0.1 { z = z * 0.5 } z * y[i] }"},
      // Ranges inside others.
      {"f64", "sum i < m { sum j < 3 { fold(x, k)[j] * y[i] } }"},
      {"f64", "sum i < m { let z = fold(x, k); sum j < 3 { fold(z, k)[j] * y[i] } }"},
      {"f64", "sum i < m, j < i + 1 { fold(x, k)[j] * y[i] }"},
      {"f64", "sum i < m { sum j < i + 1 { fold(x, k)[j] * y[i] } }"},
      {"f64", "sum i < m { max j < 3 { fold(x, k)[j] * y[i] } }"},
      {"[m]f64", "sum j < 3 { fold(x, k)[j] * y }"},
      {"f64", "sum(gen i < m, j < 3 { fold(x, k)[j] * y[i] })"},
  };
  for (const auto& [result, value] : programs) {
    const std::string text = AheadProgram(result, value);
    INFO(value);
    CHECK(Growth(text) < 2);
    for (const std::vector<double>& y : {std::vector<double>(), {2.0}, {3.0, 0.5, 1.0}}) {
      Values(text, {Vec({1, 2, 3}), Vec(y), I64(7)});
    }
  }
}

// The entry's text.
std::string Entry(const std::string& value) {
  const std::string ir = Ir(AheadProgram("f64", value));
  return ir.substr(0, ir.find("\n}"));
}

TEST_CASE("ahead: it is a statement over what was called", "[lower]") {
  const std::string ir = Entry("sum i < m { fold(x, k)[i] * y[i] }");
  CHECK(Count(ir, "call") == 1);
  CHECK(Has(ir, "%0 = lt 0, %m"));
  CHECK(Has(ir, "zeros %n : f64"));
  CHECK(Has(ir, "} sum []"));
  // A range that surely has points needs no test.
  CHECK_FALSE(Has(Entry("sum i < 3 { fold(x, k)[i] * x[i] }"), "br "));
  // A body calls what ends soon.
  CHECK_FALSE(Has(Entry("sum i < m { positive(x[0]) * y[i] }"), "br "));
  CHECK(NumberOf(AheadProgram("f64", "sum i < m { fold(x, k)[i] * y[i] }"),
                 {Vec({4, 6}), Vec({1, 10}), I64(3)}) == 7 + 70);
}

TEST_CASE("ahead: out of the loops that it has nothing to do with, no further", "[lower]") {
  for (const char* value :
       {"sum i < m { sum j < 20 { fold(x, k + i)[j] } }", "sum i < m, j < 20 { fold(x, k + i)[j] }",
        "sum i < m { let z = y[i] * x; sum j < 20 { fold(z, k)[j] } }"}) {
    INFO(value);
    const double growth = Growth(AheadProgram("f64", value));
    CHECK(growth > 15);
    CHECK(growth < 25);
    const auto steps =
        RunText(AheadProgram("f64", value), {Alike(20), Alike(1), I64(1000)}).cost.steps;
    CHECK(steps < 30000);
  }
}

TEST_CASE("ahead: nothing is evaluated for a range without points", "[lower]") {
  const std::pair<const char*, double> programs[] = {
      {"sum i < m { forever(x)[i] * y[i] }", 0},
      {"prod i < m { forever(x)[i] * y[i] }", 1},
      {"sum(gen i < m { forever(x)[i] * y[i] })", 0},
      {"sum(gen i < m { forever(x) * y[i] })", 0},
      {"sum(scan sum i < m { forever(x)[i] * y[i] })", 0},
      {"f64(argmax i < m { forever(x)[i] * y[i] })", -1},
      {"sum i < n { sum j < m { forever(x)[j] * y[j] } }", 0},
      {"sum i < n { sum j < m { let z = forever(x); forever(z)[j] * y[j] } }", 0},
      {"sum i < n, j < m { forever(x)[j] * y[j] }", 0},
      {"sum i < m { sum j < i + 1 { forever(x)[j] * y[j] } }", 0},
      {"sum i < n, j < min(i, m) { forever(x)[j] * y[j] }", 0},
      {"sum i < n { sum j < i - 2 { forever(x)[j] * y[j] } }", 0},
      {"sum i < m { beyond(x, 1)[i] * y[i] }", 0},
      {"sum i < m { (forever(x), y[i]).1 }", 0},
      {"f64(dim(gen i < m { fold(x, k) }, 1))", 2},
  };
  for (const auto& [value, expected] : programs) {
    INFO(value);
    CHECK(NumberOf(AheadProgram("f64", value), {Vec({1, 2}), Vec({}), I64(1)}) == expected);
  }
}

TEST_CASE("ahead: what is not evaluated at every point stays where it is", "[lower]") {
  for (const char* value : {
           "sum i < m { if i < k { beyond(x, 1)[i] } else { y[i] } }",
           "sum i < m { [i < k] * beyond(x, 1)[i] + y[i] }",
           "sum i < m { if i < k and beyond(x, 1)[i] > 0.0 { 0.0 } else { y[i] } }",
           "sum i < m { if i >= k or beyond(x, 1)[i] > 0.0 { y[i] } else { 0.0 } }",
           "sum i < m { var z = y[i]; while z > 100.0 { z = z * beyond(x, 1)[i] } z }",
           "sum i < m { var z = y[i]; for j < k { z = z * beyond(x, 1)[j] } z }",
           "sum i < m { y[i] + sum j < k { beyond(x, 1)[j] } }",
           "sum i < m { y[i] + sum j < i - 5 { beyond(x, 1)[j] } }",
       }) {
    INFO(value);
    CHECK(NumberOf(AheadProgram("f64", value), {Vec({1, 2}), Vec({3, 4}), I64(0)}) == 7);
  }
}

TEST_CASE("ahead: a trap is the same one, at its place", "[lower]") {
  const std::vector<Tensor> args = {Vec({1, 2}), Vec({3, 4}), I64(1)};
  const TrapPlace inside{ir::TrapKind::kIndex, 3, 2, "y[n + k]"};
  for (const char* value : {"sum i < m { beyond(x, k)[i] * y[i] }",
                            "sum i < m { sum j < 2 { beyond(x, k)[j] } * y[i] }",
                            "sum i < m { if beyond(x, k)[i] > 0.0 { 1.0 } else { 0.0 } }"}) {
    INFO(value);
    CHECK(TrapOf(AheadProgram("f64", value), args) == inside);
  }
  CHECK(TrapOf(AheadProgram("f64", "sum i < m { fold(x, k)[i + 1] * y[i] }"), args) ==
        TrapPlace{ir::TrapKind::kIndex, 2, 2, "fold(x, k)[i + 1]"});
  CHECK(TrapOf(AheadProgram("f64", "sum i < m { fold(x, k)[5] * y[i] }"), args) ==
        TrapPlace{ir::TrapKind::kIndex, 5, 2, "fold(x, k)[5]"});
}

TEST_CASE("ahead: what changes from point to point is called at each", "[lower]") {
  // A variable that a function value shares.
  CHECK(NumberOf(R"(
fn f(y: [n]f64) -> f64 {
  var s = 0.0
  let count = |t: f64| { s = s + t; for i < 3 { s = s + 1.0 } s }
  return sum i < n { count(1.0) * y[i] }
})",
                 {Vec({1, 2, 3})}) == 4 + 16 + 36);
  // The text of a function that calls itself, with other arguments.
  CHECK(NumberOf(R"(
fn g(x: [n]f64, k: i64) -> f64 {
  return if k <= 0 { x[0] } else { sum i < n { sort(x)[i] * g(gen j < n { x[j] + 1.0 }, k - 1) } }
}
fn f(x: [n]f64) -> f64 { return g(x, 2) })",
                 {Vec({1, 2, 3})}) == 162);
  CHECK(Growth(AheadProgram("f64", "sum i < m { fold(y[i] * x, k)[i] }")) > 15);
}

}  // namespace
}  // namespace pullback::lang
