// Tables that loops fill: what a turn reads of them is read again when the loops are over, where it is still there.
#include <catch2/catch.hpp>
#include <random>
#include <sstream>
#include <utility>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"
#include "tests/support/settings.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

const char* const kHead = "fn f(x: [n]f64, y: [m]f64, k: i64) -> f64 {\n";

std::vector<Tensor> Args(int64_t k = 2) {
  return {Vec({0.5, -1.2, 0.8, 0.1, 0.4}), Vec({0.9, 0.3, -0.6, 1.1}), Tensor::I64(k)};
}

struct Program {
  const char* name;
  const char* body;
};

void Check(const Program& p, bool settled) {
  INFO(p.name);
  const std::string text = kHead + std::string(p.body) + " }";
  const ir::Module ssa = LowerText(text, "f");
  for (const int64_t k : {2, 0}) CheckDerivatives(ssa, Args(k));
  const ir::Module gradient = Derived(ssa, Transform::kValueAndGrad);
  INFO(ir::Print(gradient));
  const auto run = eval::Run(gradient, Args());
  REQUIRE(run.ok());
  CHECK((run->cost.peak_tape == 0) == settled);
}

// No tape.
const Program kSettled[] = {
    {"distances of two sequences",
     "var c = zeros(n + 1, m + 1)\n for i in 1..n + 1 { for j in 1..m + 1 { let d = x[i - 1] - y[j "
     "- 1]\n c[i, j] = d * d + c[i - 1, j] * c[i, j - 1] + min(c[i - 1, j - 1], c[i - 1, j]) } }\n "
     "return c[n, m] + sum i < n + 1 { c[i, m] * c[n - i, m] }"},
    {"a recurrence",
     "var z = zeros(n)\n z[0] = x[0]\n for i in 1..n { z[i] = sin(z[i - 1]) * x[i] }\n return "
     "dot(z, z)"},
    {"two steps back, of a start that is a number",
     "var z = ones(n + 2)\n for i in 2..n + 2 { z[i] = z[i - 1] * z[i - 2] + x[i - 2] }\n return "
     "z[n + 1]"},
    {"a triangle of factors",
     "var l = zeros(n, n)\n for i < n { for j < i + 1 { var s = (x[i] - x[j]) ** 2 + [i == "
     "j] * 2.0\n for a < j { s -= l[i, a] * l[j, a] }\n l[i, j] = 0.5 * s } "
     "}\n return sum(l * l)"},
    {"rows by rows in front, whatever the column",
     "var c = gen i < n, j < m { 1.0 }\n for i in 1..n { for j < m { c[i, j] = c[i - 1, m - 1 - j] "
     "* y[j] + c[i "
     "- "
     "1, j] * x[i] } }\n return sum(c * c) + sum i < n { c[i, 0] * c[n - 1 - i, 0] }"},
    {"a branch that stores or does not",
     "var z = ones(n)\n for i in 1..n { if x[i] > 0.2 { z[i] = z[i - 1] * x[i] } }\n return dot(z, "
     "z)"},
    {"spans of spans",
     "var c = gen i < n, j < n { x[i] * x[j] }\n for l in 1..n { for i < n - l { let j = i + l\n "
     "var "
     "z = 0.0\n for a in i..j { z += c[i, a] * c[a + 1, j] }\n c[i, j] = 0.5 * z } }\n return c[0, "
     "n "
     "- 1]"},
    {"columns that no turn stores to",
     "var c = gen i < n, j < 3 { 1.0 }\n for i < n { c[i, 0] = x[i] * c[k, 2] * c[i, 1] }\n return "
     "sum(c * c)"},
};

// What comes behind the read may store to the element.
const Program kKept[] = {
    {"in place",
     "var z = x\n var s = 0.5\n for i < n { z[i] = z[i] * z[i] * s\n s = sin(s + z[i]) }\n return "
     "sum(z)"},
    {"ahead", "var z = x\n for i < n - 1 { z[i] = z[i] * z[i + 1] }\n return sum(z)"},
    {"steps over one row",
     "var z = x\n for t < 3 { for i in 1..n { z[i] = z[i] * z[i - 1] } }\n return sum(z)"},
    {"below the diagonal",
     "var c = gen i < n, j < n { 1.0 }\n for i < n { for j < n { c[i, j] = c[j, i] * x[i] + x[j] } "
     "}\n return "
     "sum(c * c)"},
    {"at a place that data say",
     "var z = x\n for i in 1..n { z[i] = z[k] * z[i - 1] }\n return sum(z)"},
    {"spans that are longer",
     "var c = gen i < n, j < n { x[i] * x[j] }\n for l in 1..n { for i < n - l { c[i, i + l] = "
     "c[i, "
     "n - 1] * c[0, i + l] } }\n return sum(c)"},
    {"spans from the longest",
     "var c = gen i < n, j < n { x[i] * x[j] }\n for k in 1..n { for i < k { let j = n - k + i\n "
     "var "
     "z = 0.0\n for a in i..j { z += c[i, a] * c[a + 1, j] }\n c[i, j] = 0.5 * z } }\n return "
     "sum(c)"},
    {"an older version",
     "var c = gen a < n, b < 3 { 1.0 }\n for i < n { let d = c\n for j in 1..3 { c[i, j] = x[i] * "
     "d[i, j - 1] * d[i, j - 1] } }\n return sum(c)"},
    {"an older version, by one arm",
     "var c = gen a < n, b < 4 { 1.0 + x[a] }\n for i < n { var d = c\n if x[i] > 0.3 { for j in "
     "1..4 "
     "{ d[i, j] = c[i, j - 1] * c[i, j - 1] } }\n c = d }\n return sum(c)"},
    {"once more, until a break",
     "var c = gen i < n, j < 3 { 1.0 }\n for i < n { for t < 9 { if t == 2 { break }\n for j in "
     "1..3 "
     "{ c[i, j] = c[i, j] + x[i] * c[i, j - 1] } } }\n return sum(c)"},
    {"once more, without a counter",
     "var c = gen i < n, j < 3 { 1.0 }\n for i < n { var t = 0\n while true { for j in 1..3 { c[i, "
     "j] "
     "= c[i, j] + x[i] * c[i, j - 1] }\n t += 1\n if t == 2 { break } } }\n return sum(c)"},
    {"by steps that come around",
     "var z = gen i < n { x[0] }\n var i = 1\n for t < 4 { if 0 <= i and i < n { if i > 0 { z[i] = "
     "z[i "
     "- 1] * z[i - 1] } else { z[i] = 5.0 } }\n i += 0x5555555555555555 }\n return z[1]"},
    {"another array, by one way through the turn",
     "var c = y\n var s = 0.0\n for i in 1..m { s += c[i - 1] * c[i - 1] * x[i]\n if x[i] > 0.45 { "
     "c[i] "
     "= 0.7 } else { for b < 2 { if x[i] > 0.3 { c = 2.0 * y } } }\n c[i] = sin(x[i]) }\n return s "
     "+ "
     "sum(c * c)"},
    {"by counters that come around",
     "var c = gen u < 2, w < 2, l < n { 1.0 + x[l] }\n var s = 0.0\n var u = 0\n var q = "
     "9223372036854775802\n var a = 9223372036854775788\n while a < q { var w = 0\n var v = "
     "9223372036854775798\n var b = 9223372036854775788\n while b < v { let r = a + b\n let p = q "
     "+ "
     "v\n if 0 <= r and r < n and 0 <= p and p < n { s += c[u, w, r] * c[u, w, r] * x[r]\n c[u, w, "
     "p] "
     "= 5.0 }\n w += 1\n b += 22\n v += 16 }\n u += 1\n a += 22\n q += 4 }\n return s + sum(c * "
     "c)"},
    {"stores in front of the test that leaves",
     "var c = gen i < n, j < 3 { 0.5 }\n var s = 0.0\n var i = 1\n while true { c[i, 0] = x[i] * "
     "0.5\n if i >= n - 1 { break }\n s += c[i - 1, 1] * c[i - 1, 1]\n c[i, 1] = x[i] * 0.7\n i += "
     "1 "
     "}\n return s + sum(c * c)"},
    {"changed behind the loops",
     "var z = x\n for i in 1..n { z[i] = x[i] * z[i - 1] * z[i - 1] }\n z[1] = 3.0\n z[0] = 2.0 * "
     "z[2]\n return dot(z, z)"},
    {"two tables that change places",
     "var a = ones(n)\n var b = ones(n)\n for i in 1..n { a[i] = b[i - 1] * b[i - 1] * x[i]\n let "
     "t "
     "= a\n a = b\n b = t }\n return dot(a, b)"},
    {"a copy that is dropped",
     "var a = ones(n)\n var s = 0.0\n for i in 1..n { var b = a\n b[i - 1] = x[i] * x[i]\n s += "
     "sin(b[i - 1]) * b[i - 1]\n a[i] = s * a[i - 1] }\n return s + sum(a)"},
};

TEST_CASE("settled reads: tables that loops fill keep no tape") {
  for (const Program& p : kSettled) Check(p, true);
}

TEST_CASE("settled reads: what may be stored to again is kept") {
  for (const Program& p : kKept) Check(p, false);
}

// Loops over a table with margins, whose turns read and store at random places near.
class Loops {
 public:
  explicit Loops(uint64_t seed) : random_(seed) {}

  std::string Text() {
    out_ << "fn f(x: [n]f64, p: f64) -> f64 {\n var c = gen i < n + 6, j < n + 6 { 0.5 + 0.1 * "
            "sin(f64(i + 3 * j)) }\n";
    if (Percent() < 25) out_ << " for t < 2 {\n";
    const bool around =
        out_.str().ends_with("{\n") && out_.str().find("for t") != std::string::npos;
    const char* const ranges[] = {"3..n + 3", "3..n + 2", "4..n + 3"};
    out_ << " for i in " << ranges[Below(3)] << " {\n";
    if (Percent() < 20) Store();
    const bool inner = Percent() < 80;
    const char* const inside[] = {"3..n + 3", "3..i + 1", "i..n + 3", "i - 1..i + 2", "3..i"};
    const bool copied = Percent() < 15, again = inner && Percent() < 10;
    if (copied) out_ << " let d = c\n";
    if (again) out_ << " for u < 9 { if u == 2 { break }\n";
    if (inner) out_ << " for j in " << inside[Below(5)] << " {\n";
    has_j_ = inner;
    has_copy_ = copied;
    for (int k = Below(2); k >= 0; --k) Turn();
    if (inner) out_ << " }\n" << (again ? " }\n" : "");
    has_j_ = has_copy_ = false;
    if (Percent() < 20) Store();
    out_ << " }\n" << (around ? " }\n" : "");
    if (Percent() < 15) out_ << " c[2, 3] = c[3, 2] * p\n";
    // By rows alone a turn runs what reads its row, and there is no table.
    out_ << " return sum i < n + 6, j < n + 6 { c[i, j] * "
         << (Percent() < 30 ? "c[i, j]" : "c[j, i]") << " * f64(i + 2 * j + 1) }\n}\n";
    return out_.str();
  }

 private:
  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  int Percent() { return Below(100); }
  std::string Near(const char* index, int ahead) {
    const char* const by[] = {" - 2", " - 1", "", " + 1"};
    return std::string(index) + by[Percent() < ahead ? 2 + Below(2) : Below(2)];
  }
  std::string Table() { return has_copy_ && Percent() < 50 ? "d" : "c"; }
  // Of a read: sometimes ahead of the store.
  std::string Place() {
    const int ahead = Percent() < 80 ? 0 : 60;
    const std::string row = Near(has_j_ && Percent() < 12 ? "j" : "i", ahead);
    if (!has_j_ || Percent() < 12)
      return Table() + "[" + row + ", " + (Percent() < 50 ? Near("i", ahead) : "3") + "]";
    return Table() + "[" + (Percent() < 40 ? "i" : row) + ", " + Near("j", ahead) + "]";
  }
  std::string Target(bool anywhere) {
    const bool copied = std::exchange(has_copy_, false);
    const std::string place = anywhere ? Place() : has_j_ ? "c[i, j]" : "c[i, 2]";
    has_copy_ = copied;
    return place;
  }
  void Store() {
    const std::string place = Target(Percent() < 20);
    out_ << " " << place << (Percent() < 8 ? " += " : " = ") << "0.5 * sin(" << Place() << " * "
         << Place() << ") + 0.3 * x[i - 3] * " << Place() << "\n";
  }
  void Turn() {
    const int form = Percent();
    if (form < 15) {
      out_ << " if x[i - 3] > 0.3 {\n";
      Store();
      out_ << " }\n";
    } else if (form < 25) {
      out_ << " var s = p\n for a in 3..i { s += " << "c[i, a] * c[a, " << (has_j_ ? "j" : "i")
           << "] }\n";
      out_ << " " << Target(true) << " = sin(s)\n";
    } else {
      Store();
    }
  }

  std::mt19937_64 random_;
  std::ostringstream out_;
  bool has_j_ = false, has_copy_ = false;
};

TEST_CASE("settled reads: random loops over a table") {
  constexpr int kRandom = RandomCount(300);
  int without_tape = 0;
  for (uint64_t seed = 0; seed < kRandom; ++seed) {
    const std::string text = Loops(seed).Text();
    INFO("seed " << seed << "\n" << text);
    const ir::Module ssa = LowerText(text, "f");
    const std::vector<Tensor> args = {Vec({0.5, -0.2, 0.8, 0.1}), Tensor::F64(0.7)};
    CheckDerivatives(ssa, args);
    const auto run = eval::Run(Derived(ssa, Transform::kValueAndGrad), args);
    REQUIRE(run.ok());
    without_tape += run->cost.peak_tape == 0 ? 1 : 0;
  }
  CHECK(without_tape > kRandom / 10);
  CHECK(without_tape < kRandom * 2 / 3);
}

// Spans from i to j, by length, with places beside what is right.
TEST_CASE("settled reads: random loops over spans") {
  int without_tape = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
    const auto near = [&](const std::string& place) {
      return place + (random() % 6 == 0 ? pick({" - 1", " + 1", " + 2"}) : "");
    };
    const std::string element =
        "c[" + near("i") + ", " + near("a") + "] * c[" + near("a") + ", " + near("j") + "]";
    const std::string text =
        "fn f(x: [n]f64) -> f64 {\n var c = gen i < n + 6, j < n + 6 { 0.3 + 0.1 * f64(i - j) }\n "
        "for l in " +
        pick({"1..n", "2..n"}) +
        " { for i in 2..n + 2 - l {\n let j = " + pick({"i + l", "i + l", "n + 2 - l"}) +
        "\n var z = x[i - 2]\n for a in " + pick({"i..j", "i + 1..j", "2..j"}) + " { z += 0.2 * " +
        element + " }\n c[" + near("i") + ", " + near("j") +
        "] = 0.5 * z\n } }\n return sum i < n + 6, j < n + 6 { c[i, j] * c[i, j] "
        "* f64(i + 2 * j + 1) }\n}\n";
    INFO("seed " << seed << "\n" << text);
    const ir::Module ssa = LowerText(text, "f");
    const std::vector<Tensor> args = {Vec({0.5, -0.2, 0.8, 0.1})};
    CheckDerivatives(ssa, args);
    const auto run = eval::Run(Derived(ssa, Transform::kValueAndGrad), args);
    REQUIRE(run.ok());
    without_tape += run->cost.peak_tape == 0 ? 1 : 0;
  }
  CHECK(without_tape > 15);
  CHECK(without_tape < 120);
}

// What a turn of the outer loop makes is kept once, for all turns of the inner one, which read it element by element; so is a table of its
// own. What nothing needs is not.
TEST_CASE("settled reads: tables of a turn") {
  const auto values_on_tape = [](const std::string& body) {
    const ir::Module ssa = LowerText(kHead + body + " }", "f");
    for (const int64_t k : {2, 0}) CheckDerivatives(ssa, Args(k));
    const auto run = eval::Run(Derived(ssa, Transform::kValueAndGrad), Args());
    REQUIRE(run.ok());
    return run->cost.peak_tape;
  };
  const int64_t n = 5;
  CHECK(values_on_tape(
            "var c = zeros(m + 1)\n for i < n { var q = zeros(m + 1)\n for j < m { q[j + "
            "1] = c[j] * c[j + 1] + x[i] * y[j] * q[j] }\n c = q }\n return sum(c)") <= 2 * n);
  CHECK(
      values_on_tape("var s = y\n var a = 0.0\n for i < n { var z = zeros(m)\n for j < m { z[j] = "
                     "0.5 * s[j] + x[i]\n s[j] = z[j] }\n a += norm2(z) }\n return a") <= 2 * n);
}

}  // namespace
}  // namespace pullback::testing
