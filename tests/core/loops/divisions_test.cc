// Where divisors of integers are checked, and what is known of what they leave.
#include <catch2/catch.hpp>

#include "core/loops/loops.h"
#include "core/loops/lower.h"
#include "core/loops/walk.h"
#include "tests/core/loops/testing.h"

namespace pullback::loops {
namespace {

struct Checks {
  int inside = 0, outside = 0;  // of loops
  bool operator==(const Checks&) const = default;
};

void Count(const std::vector<Node>& nodes, ir::TrapKind kind, bool in_loop, Checks& checks) {
  for (const Node& n : nodes) {
    if (n.kind == Node::Kind::kCheck && static_cast<ir::TrapKind>(n.bits) == kind)
      ++(in_loop ? checks.inside : checks.outside);
    Count(n.body, kind, in_loop || n.kind == Node::Kind::kFor, checks);
    Count(n.other, kind, in_loop, checks);
  }
}

Checks ChecksOf(const std::string& text, ir::TrapKind kind = ir::TrapKind::kDivideByZero) {
  const StatusOr<Module> loops = LowerToLoops(ParseIr(text));
  REQUIRE(loops.ok());
  Checks checks;
  for (const auto& f : loops->functions) {
    for (const Block& b : f->blocks) Count(b.nodes, kind, false, checks);
  }
  return checks;
}

// Of n, the extent of x and k, and numbers m and p.
std::string Sums(const std::vector<std::string>& sums) {
  std::string text =
      "fn @f(%x: [*]f64, %k: [*]i64, %m: i64, %p: i64) -> f64 {\nb0:\n  %n = dim %x, 0\n";
  std::string total = "0.0";
  for (size_t s = 0; s < sums.size(); ++s) {
    const std::string id = std::to_string(s);
    text += "  %s" + id + " = each(" + sums[s] + "\n  } sum []: %v\n  %t" + id + " = add " + total +
            ", %s" + id + "\n";
    total = "%t" + id;
  }
  return text + "  ret " + total + "\n}\n";
}

// For several lengths and numbers.
void RunAll(const std::string& text) {
  for (const int64_t n : {0, 1, 3}) {
    for (const int64_t m : {0, 1, 7}) {
      for (const int64_t p : {-2, 0, 1, 3}) {
        for (const int64_t first : {-1, 0, 2}) {
          std::vector<int64_t> k(static_cast<size_t>(n), 1);
          if (n > 0) k[0] = first;
          RunBoth(ParseIr(text), {Ramp({n}), Ints(k), Tensor::I64(m), Tensor::I64(p)}, Traps::kAny);
        }
      }
    }
  }
}

const std::string kByExtent = "i < %m) {\n    %r = rem %i, %n\n    %v = index %x[%r]";
const std::string kUnder = "i < %m) where (%i < %p) {\n    %r = rem %i, %n\n    %v = index %x[%r]";

TEST_CASE("divisions: a divisor from outside is checked in front of the loops") {
  for (const std::string& sum :
       {kByExtent, std::string("i < %m) {\n    %r = div %i, %p\n    %v = cast %r : f64"),
        std::string("i < %m, j < %n) {\n    %r = rem %m, %p\n    %v = cast %r : f64")}) {
    const std::string text = Sums({sum});
    INFO(text);
    CHECK(ChecksOf(text) == Checks{0, 1});
    RunAll(text);
  }
}

TEST_CASE("divisions: in a loop where not every point divides, or by another number each") {
  for (const std::string& sum :
       {kUnder,
        std::string("i < %m) {\n    %g = lt %i, %p\n    %r = rem %i, %n if %g\n    %v = cast %r "
                    ": f64"),
        std::string(
            "i < %n) {\n    %q = index %k[%i]\n    %r = rem %i, %q\n    %v = cast %r : f64"),
        std::string("i < %m, j < %m) {\n    %r = div %j, %i\n    %v = cast %r : f64")}) {
    const std::string text = Sums({sum});
    INFO(text);
    CHECK(ChecksOf(text) == Checks{1, 0});
    RunAll(text);
  }
}

TEST_CASE("divisions: what an earlier statement has checked is not checked again") {
  const std::string by_data =
      "i < %n) {\n    %q = index %k[%i]\n    %r = rem %i, %q\n    %v = cast %r : f64";
  const std::string backwards =
      "i < %n) {\n    %q = index %k[%n - %i - 1]\n    %r = div 7, %q\n    %v = cast %r : f64";
  for (const std::vector<std::string>& sums : {std::vector<std::string>{kUnder, kUnder},
                                               {by_data, by_data},
                                               {by_data, backwards},
                                               {kByExtent, kUnder}}) {
    const std::string text = Sums(sums);
    INFO(text);
    const Checks checks = ChecksOf(text);
    CHECK(checks.inside + checks.outside == 1);
    RunAll(text);
  }
}

TEST_CASE("divisions: of other points, or by another divisor, they are checked again") {
  const std::string less =
      "i < %m) where (%i < %p and %i < 2) {\n    %r = rem %i, %n\n    %v = cast %r : f64";
  const std::string by_p = "i < %m) where (%i < %p) {\n    %r = rem %i, %p\n    %v = cast %r : f64";
  const std::string by_more =
      "i < %n) {\n    %q = index %k[%i]\n    %q1 = add %q, 1\n    %r = rem %i, %q1\n    %v = cast "
      "%r "
      ": f64";
  const std::string by_data =
      "i < %n) {\n    %q = index %k[%i]\n    %r = rem %i, %q\n    %v = cast %r : f64";
  for (const std::vector<std::string>& sums :
       {std::vector<std::string>{less, kUnder}, {kUnder, by_p}, {by_data, by_more}}) {
    const std::string text = Sums(sums);
    INFO(text);
    CHECK(ChecksOf(text) == Checks{2, 0});
    RunAll(text);
  }
}

TEST_CASE("divisions: by the extent of a loop around there is nothing to check") {
  const std::string inside = "i < %n, j < %m) {\n    %r = rem %j, %n\n    %v = index %x[%r]";
  const std::string some =
      "i < %n, j < 3) where (%j <= %i and %i <= %p) {\n    %r = rem %j, %n\n    %v = index %x[%r]";
  const std::string guarded =
      "i < %n, j < 3) {\n    %g = lt %j, %p\n    %r = div %j, %n if %g\n    %v = cast %r : f64";
  for (const std::string& sum : {inside, some, guarded}) {
    const std::string text = Sums({sum});
    INFO(text);
    CHECK(ChecksOf(text) == Checks{0, 0});
    CHECK(ChecksOf(text, ir::TrapKind::kIndex) == Checks{0, 0});
    RunAll(text);
  }
  // A number that is the extent where a condition holds, and 0 elsewhere.
  const std::string text = Sums(
      {"i < %n) {\n    %g = lt %i, %p\n    %e = add %n, 0 if %g\n    %r = rem %i, %e\n    %v = "
       "cast %r : f64"});
  INFO(text);
  CHECK(ChecksOf(text) == Checks{1, 0});
  RunAll(text);
}

TEST_CASE("divisions: what is left of a division by an extent is in range") {
  const auto index_checks = [](const std::string& sum) {
    const std::string text = Sums({sum});
    INFO(text);
    RunAll(text);
    const Checks checks = ChecksOf(text, ir::TrapKind::kIndex);
    return checks.inside + checks.outside;
  };
  CHECK(index_checks(kByExtent) == 0);
  CHECK(index_checks("i < %n, j < %n) {\n    %s = add %i, %j\n    %r = rem %s, %n\n    %v = index "
                     "%x[%r]") == 0);
  CHECK(index_checks("i < %n, j < %n) {\n    %r = rem %j, %n\n    %v = index %x[%n - %r - 1]") ==
        0);
  // It may be negative; it is of another extent; there may be no point, and no element.
  CHECK(index_checks("i < %n) {\n    %s = sub %i, 3\n    %r = rem %s, %n\n    %v = index %x[%r]") >
        0);
  CHECK(index_checks("i < %m) {\n    %r = rem %i, %p\n    %v = index %x[%r]") > 0);
  CHECK(index_checks("i < %m) {\n    %r = rem %i, %n\n    %v = index %x[%r + 1]") > 0);
  CHECK(index_checks(kUnder) > 0);
}

// That there is a remainder says that the extent is not 0: at points, and nowhere else.
TEST_CASE(
    "divisions: an element is there where something is divided by the extent, and not in front") {
  const std::string text =
      Sums({"i < %m, j < %p) {\n    %r = rem %j, %n\n    %u = index %x[%r]\n    %w = index %x[0]\n "
            "   %v = "
            "add %u, %w"});
  for (const int64_t n : {0, 2}) {
    for (const int64_t m : {0, 3}) {
      for (const int64_t p : {0, 3}) {
        RunBoth(ParseIr(text), {Ramp({n}), Ints({}), Tensor::I64(m), Tensor::I64(p)}, Traps::kAny);
      }
    }
  }
}

// An index that steps has a number of its own, behind that of the remainder.
TEST_CASE("divisions: a remainder by a difference of indices is no index") {
  const std::string text = R"(fn @f(%y: [*]f64, %m: i64) -> f64 {
b0:
  %n = dim %y, 0
  %s = each(a < %m, i < %n, j < %n) where (%j <= %i - 1) {
    %d = affine %i - %j
    %r = rem %a, %d
    %v = cast %r : f64
  } sum []: %v
  %t = each(a < %m, j < %n, t < %n) where (%j <= %t - 1) {
    %d = affine %t - %j
    %r = rem %a, %d
    %v = index %y[3*%t - 40*%r]
  } sum []: %v
  %u = add %s, %t
  ret %u
}
)";
  for (const int64_t n : {0, 1, 2, 9}) {
    for (const int64_t m : {0, 1, 2, 30})
      RunBoth(ParseIr(text), {Ramp({n}), Tensor::I64(m)}, Traps::kAny);
  }
}

TEST_CASE("divisions: the least integer by -1") {
  const std::string text =
      Sums({"i < %n) {\n    %q = index %k[%i]\n    %r = div %m, %q\n    %z = rem %m, %q\n"
            "    %y = add %r, %z\n    %v = cast %y : f64",
            "i < %n) {\n    %r = div %m, %p\n    %v = cast %r : f64"});
  RunBoth(ParseIr(text), {Ramp({1}), Ints({-1}), Tensor::I64(INT64_MIN), Tensor::I64(-1)});
}

}  // namespace
}  // namespace pullback::loops
