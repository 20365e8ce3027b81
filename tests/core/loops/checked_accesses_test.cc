// What an earlier statement has found in range needs no check later: which of two statements that read at places that
// data say have checks, and random ones, which never read out of range.
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <random>

#include "core/loops/loops.h"
#include "core/loops/lower.h"
#include "core/loops/walk.h"
#include "tests/core/loops/testing.h"
#include "tests/support/settings.h"

namespace pullback::loops {
namespace {

// Of accesses that have a place in the program, as those have that the tests are about.
int ChecksOf(const Module& module) {
  int checks = 0;
  for (const auto& f : module.functions) {
    for (const Block& b : f->blocks) {
      ForEachNode(b.nodes, [&](const Node& n) {
        checks += n.kind == Node::Kind::kCheck && n.loc != 0 && n.loc < 10 &&
                  static_cast<ir::TrapKind>(n.bits) == ir::TrapKind::kIndex;
      });
    }
  }
  return checks;
}

int ChecksOf(const std::string& text) {
  const StatusOr<Module> loops = LowerToLoops(ParseIr(text));
  REQUIRE(loops.ok());
  return ChecksOf(*loops);
}

// Two sums that read y at places of k and l; n is the size of k and l, m that of y.
std::string Two(const std::string& first, const std::string& second) {
  return "fn @f(%y: [*]f64, %k: [*]i64, %l: [*]i64) -> (f64, f64) {\nb0:\n  %m = dim %y, 0\n"
         "  %n = dim %k, 0\n  %0 = dim %l, 0\n  %1 = eq %n, %0\n  check %1, size_mismatch, %n, %0 "
         "!1\n  %less = affine %n - 1\n  %s = " +
         first + " !2\n  %t = " + second + " !3\n  ret %s, %t\n}\n";
}
std::string Sum(const std::string& box, const std::string& sub, const std::string& id,
                const std::string& array = "k") {
  return "each(" + box + ") {\n    %p" + id + " = index %" + array + "[" + sub + "]\n    %v" + id +
         " = index %y[%p" + id + "] !" + id + "\n  } sum []: %v" + id;
}

TEST_CASE("checked accesses: places that data say are checked once") {
  const std::string first = Sum("i < %n, j < %n", "%j", "5");
  CHECK(ChecksOf(Two(first, Sum("i < %n, j < %n", "%j", "6"))) == 1);
  // The other way round, another index, no other index, one more.
  CHECK(ChecksOf(Two(first, Sum("i < %n, j < %n", "%n - %j - 1", "6"))) == 1);
  CHECK(ChecksOf(Two(first, Sum("i < %n, j < %n", "%i", "6"))) == 1);
  CHECK(ChecksOf(Two(first, Sum("j < %n", "%j", "6"))) == 1);
  CHECK(ChecksOf(Two(first, Sum("j < %n, a < %m", "%j", "6"))) == 1);
  // Fewer points.
  CHECK(ChecksOf(Two(first, Sum("i < %n, j < %n) where (%j < %i", "%j", "6"))) == 1);
  CHECK(ChecksOf(Two(first, Sum("j < %less", "%j + 1", "6"))) == 1);
  const std::string triangle = "i < %n, j < %n) where (%j < %i";
  CHECK(ChecksOf(Two(Sum(triangle, "%j", "5"), Sum(triangle, "%j", "6"))) == 1);
}

TEST_CASE("checked accesses: other places are checked again") {
  const std::string all = "i < %n, j < %n", first = Sum(all, "%j", "5");
  CHECK(ChecksOf(Two(first, Sum(all, "%j", "6", "l"))) == 2);
  // More points: those of a triangle, of a box that may be empty, under a guard.
  CHECK(ChecksOf(Two(Sum("i < %n, j < %n) where (%j < %i", "%j", "5"), Sum(all, "%j", "6"))) == 2);
  CHECK(ChecksOf(Two(Sum("i < %less, j < %n", "%j", "5"), Sum(all, "%j", "6"))) == 2);
  CHECK(ChecksOf(Two(Sum("i < %m, j < %n", "%j", "5"), Sum(all, "%j", "6"))) == 2);
  const std::string guarded = R"(each(j < %n) {
    %g@ = index %y[%j]
    %h@ = lt %g@, 1.0
    %p@ = index %k[%j]
    %v@ = index %y[%p@] if %h@ !@
  } sum []: %v@ if %h@)";
  const auto with = [&](const std::string& id) {
    std::string text = guarded;
    for (size_t at = 0; (at = text.find('@', at)) != std::string::npos;) text.replace(at, 1, id);
    return text;
  };
  const std::string plain = Sum("j < %n", "%j", "6");
  // Of the guard's own read and of the guarded one. (The other is known by its size.)
  const int both = ChecksOf(Two(with("5"), plain));
  CHECK(ChecksOf(Two(with("5"), with("6"))) == both - 1);
  CHECK(ChecksOf(Two(plain, with("5"))) == both - 1);
}

TEST_CASE("checked accesses: a cast to another type is another place") {
  const auto sum = [](const std::string& id, const std::string& to) {
    return "each(j < %n) {\n    %u" + id + " = index %y[%j]\n    %c" + id + " = cast %u" + id +
           " : " + to + "\n    %p" + id + " = cast %c" + id + " : i64\n    %v" + id +
           " = index %y[%p" + id + "] !" + id + "\n  } sum []: %v" + id;
  };
  CHECK(ChecksOf(Two(sum("5", "f32"), sum("6", "f32"))) <
        ChecksOf(Two(sum("5", "bool"), sum("6", "f32"))));
  RunBoth(Two(sum("5", "bool"), sum("6", "f32")), {Vector({7, 0}), Ints({0}), Ints({0})});
}

TEST_CASE("checked accesses: a branch that was not taken has checked nothing") {
  const auto function = [](const std::string& last) {
    return "fn @f(%y: [*]f64, %k: [*]i64, %c: bool) -> (f64) {\nb0:\n  %n = dim %k, 0\n"
           "  br %c, b1, b2\nb1:\n  %s = " +
           Sum("j < %n", "%j", "5") +
           " !2\n  jump b3(%s)\nb2:\n  %t = " + Sum("j < %n", "%j", "6") +
           " !3\n  jump b3(%t)\nb3(%u: f64):\n" + last + "}\n";
  };
  CHECK(ChecksOf(function("  ret %u\n")) == 2);
  const std::string third = function("  %w = " + Sum("j < %n", "%j", "7") + " !4\n  ret %w\n");
  CHECK(ChecksOf(third) == 3);
}

TEST_CASE("checked accesses: sums to places that data say") {
  const std::string text = R"(
fn @f(%x: [*]f64, %k: [*]i64, %m: i64) -> ([*]f64, [*]f64) {
b0:
  %n = dim %k, 0
  %a = each(i < %n) {
    %p = index %k[%i]
    %v = cast %i : f64
  } sum [%p] !5 of (%m): %v !2
  %b = each(i < %n) {
    %p1 = index %k[%n - %i - 1]
    %v1 = index %a[%p1] !6
  } sum [%p1] !7 of (%m): %v1 !3
  ret %a, %b
})";
  CHECK(ChecksOf(text) == 1);
  const ir::Module module = ParseIr(text);
  for (const std::vector<int64_t>& k : {std::vector<int64_t>{0, 2, 0}, {0, -1, 5}, {}})
    RunBoth(module, {Ramp({3}), Ints(k), Tensor::I64(3)});
}

// For each i and j, what y has at place k[i] of its rows, and then what it has at l[j].
constexpr const char* kTwoPlaces = R"(
fn @f(%y: [*,*]f64, %k: [*]i64, %l: [*]i64, %m: i64) -> f64 {
b0:
  %n = dim %k, 0
  %s = each(i < %n, j < %m) {
    %p = index %k[%i]
    %u = index %y[%p, %j] !5
    %q = index %l[%j]
    %v = index %y[%q, %j] !6
    %w = mul %u, %v
  } sum []: %w !2
  ret %s
})";

TEST_CASE("checked accesses: checks of what an outer loop knows stand there") {
  const std::string loops = PrintLoops(kTwoPlaces);
  const size_t outer = loops.find("for %i"), inner = loops.find("for %j");
  const size_t place = loops.find("%p = %k[%i]"), first = loops.rfind("!5");
  const size_t second = loops.find("!6");
  CAPTURE(loops);
  REQUIRE(second != std::string::npos);
  CHECK(outer < place);
  CHECK(place < loops.find("if %", outer));  // where there is no j nothing is read
  CHECK(loops.find("if %", outer) < first);
  CHECK(first < inner);
  CHECK(inner < second);
}

TEST_CASE("checked accesses: the first in the order of the text traps") {
  // Also as they stand the other way round.
  std::string turned = kTwoPlaces;
  const auto replace = [&](const std::string& a, const std::string& b) {
    turned.replace(turned.find(a), a.size(), b);
  };
  replace("index %k[%i]", "index %l[%j]");
  replace("%q = index %l[%j]", "%q = index %k[%i]");
  const std::vector<std::vector<int64_t>> places = {{0, 1}, {0, 2}, {-1, 0}, {0, -1}, {}};
  for (const std::string& text : {std::string(kTwoPlaces), turned}) {
    const ir::Module module = ParseIr(text);
    for (const auto& k : places) {
      for (const auto& l : places) {
        // What l has no element for is found before all this.
        for (int64_t m = 0; m <= std::ssize(l); ++m)
          RunBoth(module, {Ramp({2, 2}), Ints(k), Ints(l), Tensor::I64(m)});
      }
    }
  }
}

// Statements over pairs, each of which reads at places that data say.
class RandomReads {
 public:
  explicit RandomReads(uint32_t seed) : rng_(seed) {}

  std::string Make() {
    std::string text =
        "fn @f(%y: [*]f64, %z: [*]f64, %k: [*]i64, %l: [*,*]i64, %c: bool, %m: i64) -> (f64) "
        "{\nb0:\n"
        "  %n = dim %k, 0\n  %less = affine %n - 1\n  %few = max %less, 0\n"
        "  %l0 = dim %l, 0\n  %l1 = dim %l, 1\n  %e0 = eq %n, %l0\n  %e1 = eq %n, %l1\n"
        "  check %e0, size_mismatch, %n, %l0 !20\n  check %e1, size_mismatch, %n, %l1 !21\n"
        "  %zero = const 0.0\n";
    for (int k = 1; k <= 3; ++k) text += Statement(k);
    text += "  br %c, b1, b2(%t3)\nb1:\n" + Statement(4) + "  jump b2(%t4)\nb2(%u: f64):\n";
    for (int k = 5; k <= 6; ++k) text += Statement(k);
    return text +
           "  %r1 = add %u, %t5\n  %r2 = add %r1, %t6\n  %r3 = add %r2, %t1\n"
           "  %r4 = add %r3, %t2\n  ret %r4\n}\n";
  }
  std::vector<Tensor> Args() {
    const int64_t n = Draw(4), m = 1 + Draw(4);
    std::vector<int64_t> k, l;
    for (int64_t i = 0; i < n; ++i) k.push_back(Place(m));
    for (int64_t i = 0; i < n * n; ++i) l.push_back(Place(m));
    return {Ramp({m}),
            Ramp({m + Draw(2)}),
            Ints(k),
            Tensor::Of(DType::kI64, {n, n}, l),
            Tensor::Bool(Draw(2) == 0),
            Tensor::I64(m)};
  }

 private:
  int Draw(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  int64_t Place(int64_t m) {
    return Draw(12) == 0 ? m - 2 * Draw(2) * m : Draw(static_cast<int>(m));
  }
  template <size_t N>
  std::string Any(const char* const (&of)[N]) {
    return of[Draw(static_cast<int>(N))];
  }

  std::string Statement(int k) {
    const std::string id = std::to_string(k);
    static const char* const kBoxes[] = {"i < %n, j < %n", "i < %n, j < %n", "i < %few, j < %n",
                                         "j < %n, i < %n", "i < %n, j < %few"};
    static const char* const kWhere[] = {
        "", "", "", " where (%j <= %i)", " where (%i <= %j - 1)", " where (%i + %j == %n - 1)"};
    static const char* const kSubs[] = {"%i", "%j", "%n - %i - 1", "%n - %j - 1", "%j"};
    std::string body;
    if (Draw(5)) {
      body += "    %p" + id + " = index %k[" + Any(kSubs) + "]\n";
    } else {
      body += "    %p" + id + " = index %l[" + Any(kSubs) + ", " + Any(kSubs) + "]\n";
    }
    std::string guard;
    if (Draw(5) == 0) {
      body += "    %g" + id + " = " + (Draw(2) ? "lt" : "ge") + " %p" + id + ", %m\n";
      guard = " if %g" + id;
    }
    static const char* const kShifts[] = {"", "", "", "", "", "", " + 1", " - 1"};
    body += "    %v" + id + " = index %" + (Draw(6) ? "y" : "z") + "[%p" + id + Any(kShifts) + "]" +
            guard + " !" + id + "\n";
    std::string value = "%v" + id;
    if (Draw(2)) {  // another, which other loops may know
      value = "%h" + id;
      body += "    %q" + id + " = index %k[" + Any(kSubs) + "]\n    %x" + id + " = index %z[%q" +
              id + "] !" + std::to_string(30 + k) + "\n    %h" + id + " = add %v" + id + ", %x" +
              id + "\n";
    }
    std::string result = "sum []: " + value + guard, name = "%t" + id;
    std::string after;
    if (Draw(2)) {
      result = "gen [%i, %j] of (%n, %n): " + value + guard;
      name = "%a" + id;
      after = "  %t" + id + " = each(i < %n, j < %n) {\n    %w" + id + " = index %a" + id +
              "[%i, %j]\n  } sum []: %w" + id + "\n";
    }
    return "  " + name + " = each(" + Any(kBoxes) + ")" + Any(kWhere) + " {\n" + body + "  } " +
           result + " !" + std::to_string(10 + k) + "\n" + after;
  }

  std::mt19937 rng_;
};

// Which accesses of arrays of numbers, and divisions of integers, rely on each check; in order.
std::vector<int> ReliedOn(const std::string& text) {
  const StatusOr<Module> loops = LowerToLoops(ParseIr(text));
  REQUIRE(loops.ok());
  std::map<Reg, int> by_token;
  for (const Block& b : loops->functions[0]->blocks) {
    ForEachNode(b.nodes, [&](const Node& n) {
      for (const Proof& p : n.proofs) {
        if (n.kind == Node::Kind::kCheck && p.token != kFacts)
          by_token.try_emplace(p.token);
        else if (n.kind != Node::Kind::kCheck)
          ++by_token[p.token];
      }
    });
  }
  std::vector<int> counts;
  for (const auto& [token, count] : by_token) counts.push_back(count);
  return counts;
}

std::string SumsOf(const std::vector<std::string>& sums) {
  std::string text =
      "fn @f(%x: [*]f64, %k: [*]i64, %m: i64) -> f64 {\nb0:\n  %n = dim %x, 0\n  %p = dim %k, 0\n";
  std::string total = "0.0";
  for (size_t s = 0; s < sums.size(); ++s) {
    const std::string id = std::to_string(s);
    text += "  %s" + id + " = each(" + sums[s] + "} sum []: %v\n  %t" + id + " = add " + total +
            ", %s" + id + "\n";
    total = "%t" + id;
  }
  return text + "  ret " + total + "\n}\n";
}

TEST_CASE("checked accesses: what relies on a check in front of the loops says so") {
  const std::string read = "i < %m) { %v = index %x[%i] ";
  CHECK(ReliedOn(SumsOf({read})) == std::vector<int>{1});
  CHECK(ReliedOn(SumsOf({read, read})) == std::vector<int>{2});
  const std::string at_each = "i < %p) { %j = index %k[%i]; %v = index %x[%j] ";
  CHECK(ReliedOn(SumsOf({at_each, at_each})) == std::vector<int>{2});
  // The remainder is an index of x, and where there is one x has elements.
  const std::string remainder =
      "i < %m) { %r = rem %i, %n; %u = index %x[%r]; %w = index %x[0]; %v = mul %u, %w ";
  CHECK(ReliedOn(SumsOf({remainder})) == std::vector<int>{4});
  CHECK(ReliedOn(SumsOf({remainder, remainder}))[0] >= 4);
}

TEST_CASE("checked accesses: fewer points do not wait for the checks of more") {
  const std::string more = "i < %n, j < %m) where (%j <= %i) { %v = index %x[%j] ";
  const std::string fewer = "j < %m) where (%j <= 0) { %v = index %x[%j] ";
  CHECK(ReliedOn(SumsOf({more, more})) == std::vector<int>{2});
  CHECK(ReliedOn(SumsOf({fewer, fewer})) == std::vector<int>{2});
  CHECK(ReliedOn(SumsOf({more, fewer})) == std::vector<int>{1, 1});
  // What data say takes a check at each point, which may be dear.
  const std::string more_data = "i < %n, j < %p) { %a = index %k[%j]; %v = index %x[%a] ";
  const std::string fewer_data = "j < %p) where (1 <= %n) { %a = index %k[%j]; %v = index %x[%a] ";
  CHECK(ReliedOn(SumsOf({more_data, fewer_data})) == std::vector<int>{2});
}

TEST_CASE("checked accesses: random reads are in range or trap as before") {
  constexpr int kRandom = testing::RandomCount(400), kAccesses = 6 * kRandom;
  int checks = 0, trapped = 0, runs = 0;
  for (int seed = 0; seed < kRandom; ++seed) {
    RandomReads reads(seed);
    const std::string text = reads.Make();
    INFO(text);
    const ir::Module module = ParseIr(text);
    checks += ChecksOf(text);
    for (int k = 0; k < 6; ++k, ++runs) trapped += RunBoth(module, reads.Args()).trap.has_value();
  }
  std::printf("random reads: %d checks of %d accesses, %d of %d runs trapped\n", checks, kAccesses,
              trapped, runs);
  CHECK(checks * 48 < kAccesses * 43);  // 2150 of 2400
  CHECK(trapped > runs / 10);
  CHECK(trapped < runs * 9 / 10);
}

}  // namespace
}  // namespace pullback::loops
