// What loops of the block graph say about subscripts: where no check is left, and where one must be.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <random>

#include "tests/core/loops/testing.h"

namespace pullback::loops {
namespace {

// Checks of a subscript in the printed loops.
int ChecksIn(const std::string& loops) {
  int count = 0;
  for (size_t at = 0; (at = loops.find("index(", at)) != std::string::npos; ++at) ++count;
  return count;
}

int ChecksLeft(const std::string& ir) { return ChecksIn(PrintLoops(ir)); }

// while `test` of (%i, %n) { s += x[at]; i += step }, n the extent of x and m a number.
std::string Loop(const std::string& first, const std::string& test, const std::string& at,
                 const std::string& step) {
  return R"(
entry @f
fn @f(%x: [*]f64, %m: i64) -> (f64, i64) {
b0:
  %n = dim %x, 0
  %last = sub %n, 1
  jump b1()" +
         first + R"(, 0.0, 0)
b1(%i: i64, %s: f64, %t: i64):
  %c = )" +
         test + R"(
  br %c, b2, b3
b2:
  %v = index %x[)" +
         at + R"(] !1
  %s1 = add %s, %v
  %i1 = add %i, )" +
         step + R"(
  %t1 = add %t, 1
  jump b1(%i1, %s1, %t1)
b3:
  ret %s, %t
}
)";
}

TEST_CASE("counting loops read without checks") {
  CHECK(ChecksLeft(Loop("0", "lt %i, %n", "%i", "1")) == 0);
  CHECK(ChecksLeft(Loop("1", "lt %i, %n", "%i - 1", "1")) == 0);
  CHECK(ChecksLeft(Loop("0", "lt %i, %last", "%i + 1", "1")) == 0);
  CHECK(ChecksLeft(Loop("0", "lt %i, %n", "%n - 1 - %i", "1")) == 0);
  CHECK(ChecksLeft(Loop("%n", "gt %i, 0", "%i - 1", "-1")) == 0);
  CHECK(ChecksLeft(Loop("%last", "ge %i, 0", "%i", "-1")) == 1);  // ge says nothing of the step
  // The counter of turns goes with it.
  CHECK(ChecksLeft(Loop("0", "lt %i, %n", "%t", "1")) == 0);
  CHECK(ChecksLeft(Loop("%n", "gt %i, 0", "%t", "-1")) == 0);
}

TEST_CASE("what is not proven is checked") {
  CHECK(ChecksLeft(Loop("0", "lt %i, %m", "%i", "1")) == 1);
  CHECK(ChecksLeft(Loop("%m", "lt %i, %n", "%i", "1")) == 1);
  CHECK(ChecksLeft(Loop("0", "lt %i, %n", "%i + 1", "1")) == 1);
  CHECK(ChecksLeft(Loop("0", "lt %i, %n", "%i - 1", "1")) == 1);
  CHECK(ChecksLeft(Loop("0", "le %i, %n", "%i", "1")) == 1);
  CHECK(ChecksLeft(Loop("0", "ne %i, %n", "%i", "1")) == 1);
  CHECK(ChecksLeft(Loop("0", "lt %i, %n", "%i", "2")) == 1);
}

TEST_CASE("a bound that changes is none") {
  const std::string text = R"(
entry @f
fn @f(%x: [*]f64) -> f64 {
b0:
  %n = dim %x, 0
  jump b1(0, %n, 0.0)
b1(%i: i64, %m: i64, %s: f64):
  %c = lt %i, %m
  br %c, b2, b3
b2:
  %i1 = add %i, 1
  %m1 = sub %m, 1
  %v = index %x[%i] !1
  %s1 = add %s, %v
  jump b1(%i1, %m1, %s1)
b3:
  %w = index %x[%i] !2
  %r = add %s, %w
  ret %r
}
)";
  CHECK(PrintLoops(text).find("!2") != std::string::npos);
  CHECK(RunBoth(text, {Ramp({0})}).trap);
  CHECK_FALSE(RunBoth(text, {Ramp({5})}).trap);
}

TEST_CASE("arrays that a loop changes keep their extents, through nested loops and branches") {
  const std::string text = R"(
entry @f
fn @f(%x: [*]f64) -> [*]f64 {
b0:
  %n = dim %x, 0
  jump b1(0, %x)
b1(%i: i64, %a: [*]f64):
  %c = lt %i, %n
  br %c, b2, b7
b2:
  jump b3(0, %a)
b3(%j: i64, %b: [*]f64):
  %d = lt %j, %i
  br %d, b4, b6
b4:
  %v = index %b[%j] !1
  %b1 = add_at %b[%i], %v !2
  %e = lt %v, 0.0
  br %e, b5(%b), b5(%b1)
b5(%b2: [*]f64):
  %j1 = add %j, 1
  jump b3(%j1, %b2)
b6:
  %i1 = add %i, 1
  jump b1(%i1, %b)
b7:
  ret %a
}
)";
  CHECK(ChecksLeft(text) == 0);
  CHECK_FALSE(RunBoth(text, {Ramp({6})}).trap);
}

TEST_CASE("an array of other extents is not taken for the first") {
  const std::string text = R"(
entry @f
fn @f(%x: [*]f64, %y: [*]f64) -> f64 {
b0:
  %n = dim %x, 0
  jump b1(0, %x, 0.0)
b1(%i: i64, %a: [*]f64, %s: f64):
  %c = lt %i, %n
  br %c, b2, b3
b2:
  %v = index %a[%i] !1
  %s1 = add %s, %v
  %i1 = add %i, 1
  jump b1(%i1, %y, %s1)
b3:
  ret %s
}
)";
  CHECK(ChecksLeft(text) == 1);
  CHECK(RunBoth(text, {Ramp({3}), Ramp({1})}).trap);
  CHECK_FALSE(RunBoth(text, {Ramp({3}), Ramp({3})}).trap);
}

TEST_CASE("quotients and remainders of sizes stay in range") {
  const auto half = [](const std::string& count, const std::string& at) {
    return R"(
entry @f
fn @f(%x: [*]f64, %k: i64) -> f64 {
b0:
  %n = dim %x, 0
  %h = )" + count +
           R"(
  %y = each(i < %h) {
    %v = index %x[)" +
           at + R"(] !1
  } sum []: %v
  ret %y
}
)";
  };
  CHECK(ChecksLeft(half("div %n, 2", "2*%i")) == 0);
  CHECK(ChecksLeft(half("div %n, 2", "2*%i + 1")) == 0);
  CHECK(ChecksLeft(half("div %n, 3", "3*%i + 2")) == 0);
  CHECK(ChecksLeft(half("rem %n, 3", "%i")) == 0);
  CHECK(ChecksLeft(half("div %n, 2", "2*%i + 2")) > 0);
  CHECK(ChecksLeft(half("div %n, 2", "3*%i")) > 0);
  CHECK(ChecksLeft(half("div %k, 2", "2*%i")) > 0);
  CHECK(ChecksLeft(half("rem %k, 3", "%i")) > 0);
}

// Whatever is proven, the run is that of the reference, traps included; the loop interpreter stops at an
// access outside an array.
TEST_CASE("random counting loops agree with the reference") {
  std::mt19937 random(7);
  const auto pick = [&](const std::vector<std::string>& all) { return all[random() % all.size()]; };
  int proven = 0, trapped = 0;
  constexpr int kLoops = 300;
  for (int round = 0; round < kLoops; ++round) {
    const bool up = random() % 2 == 0;
    const std::string first = up ? pick({"0", "1", "-1", "2", "%m", "9223372036854775806"})
                                 : pick({"%n", "%last", "%m", "3", "-9223372036854775807"});
    const std::string test =
        up ? pick({"lt %i, %n", "lt %i, %last", "lt %i, %m", "gt %n, %i", "le %i, %last",
                   "lt %i, 3"})
           : pick({"gt %i, 0", "ge %i, 0", "lt 0, %i", "gt %i, 1", "gt %i, %m", "gt %i, -1"});
    const std::string at = pick(
        {"%i", "%i - 1", "%i + 1", "%n - %i", "%n - 1 - %i", "%t", "%t + 1", "2*%i", "%last - %t"});
    const std::string text = Loop(first, test, at, up ? "1" : "-1");
    INFO(text);
    proven += ChecksLeft(text) == 0;
    for (const int64_t n : {0, 1, 2, 5}) {
      for (const int64_t m : {int64_t{-1}, int64_t{0}, int64_t{4}}) {
        // A loop that would go on to the end of the integers traps on its way, or is left out.
        if (!up && (test == "gt %i, %m" && m < -1)) continue;
        trapped += RunBoth(text, {Ramp({n}), Tensor::I64(m)}).trap.has_value();
      }
    }
  }
  std::cout << "counting loops without checks: " << proven << " of " << kLoops
            << ", runs that trapped: " << trapped << '\n';
  CHECK(proven > 20);
  CHECK(trapped > 100);
}

}  // namespace
}  // namespace pullback::loops
