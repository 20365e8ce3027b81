// The predicate algebra against enumeration over small boxes, and its cost in combinations.
#include "core/analysis/predicate.h"

#include <catch2/catch.hpp>
#include <iostream>

#include "core/analysis/eliminate.h"
#include "tests/core/analysis/points.h"

namespace pullback::analysis {
namespace {

using ir::Affine;
using ir::Constraint;
using ir::Value;
using S = SmallBox;

constexpr int kRandom = 400;

TEST_CASE("lowest terms: inequalities are tightened, equalities tested by the gcd") {
  Constraint c{I(2) - C(1), false};
  CHECK(LowestTerms(c) == Truth::kUnknown);
  CHECK(c == Constraint{I() - C(1), false});
  c = {I(-4) + J(2) + C(3), false};
  CHECK(LowestTerms(c) == Truth::kUnknown);
  CHECK(c == Constraint{I(-2) + J() + C(1), false});
  c = {I(6) - J(4) - C(3), true};
  CHECK(LowestTerms(c) == Truth::kFalse);
  c = {I(-6) + J(4), true};
  CHECK(LowestTerms(c) == Truth::kUnknown);
  CHECK(c == Constraint{I(3) - J(2), true});
}

TEST_CASE("a constraint is decided by the corners of its box, with symbolic extents") {
  const S s;
  const Affine n = Affine::Of(S::n);
  Constraint c{n - C(1) - I(), false};
  CHECK(Normalise(c, s.box) == Truth::kTrue);
  c = {I() - n, false};
  CHECK(Normalise(c, s.box) == Truth::kFalse);
  c = {I() - n, true};
  CHECK(Normalise(c, s.box) == Truth::kFalse);
  c = {n - C(2) - I(), false};
  CHECK(Normalise(c, s.box) == Truth::kUnknown);
}

TEST_CASE("what is not tame is left alone") {
  S s;
  const Value wild{9};
  const Affine e = Affine::Of(wild) * 2 + C(1);
  std::vector<Constraint> all{{e, false}, {e, false}, {C(3), false}};
  Work work;
  CHECK(Simplify(all, s.box, work) == Truth::kUnknown);
  CHECK(all == std::vector<Constraint>{{e, false}});
  CHECK_FALSE(Negate({e, false}, s.box));
  CHECK_FALSE(ProvesImplied(all, {Affine::Of(wild), false}, s.box, work));
  CHECK(ProvesImplied(all, {e, false}, s.box, work));
}

TEST_CASE("two constraints become one") {
  const S s;
  Work work;
  std::vector<Constraint> all{{I() - C(1), false}, {C(1) - I(), false}, {I() + J() - C(1), false}};
  CHECK(Simplify(all, s.box, work) == Truth::kUnknown);
  CHECK(all == std::vector<Constraint>{{I() - C(1), true}, {I() + J() - C(1), false}});
  all = {{I() - C(1), false}, {I() - C(2), false}};
  CHECK(Simplify(all, s.box, work) == Truth::kUnknown);
  CHECK(all == std::vector<Constraint>{{I() - C(2), false}});
  all = {{I() - C(2), false}, {C(1) - I(), false}};
  CHECK(Simplify(all, s.box, work) == Truth::kFalse);
}

TEST_CASE("emptiness by elimination") {
  S s;
  Work work;
  // i < j, j < k, k <= i.
  const Affine k = Affine::Of(S::k);
  CHECK(ProvesEmpty({{J() - I() - C(1), false}, {k - J() - C(1), false}, {I() - k, false}}, s.box,
                    work));
  // 2i = 2j + 1 is odd against even.
  CHECK(ProvesEmpty({{I(2) - J(2) - C(1), true}}, s.box, work));
  CHECK_FALSE(ProvesEmpty({{I(2) - J(3), true}}, s.box, work));
}

TEST_CASE("random predicates: simplified, they hold at the same points") {
  std::mt19937 random(1);
  const S s;
  int decided = 0;
  for (int round = 0; round < kRandom; ++round) {
    const Predicate before = RandomPredicate(random);
    Predicate after = before;
    Work work;
    const Truth t = Simplify(after, s.box, work);
    bool same = true, any = false, all = true;
    ForEachPoint([&](const Point& at) {
      const bool holds = Holds(before, at);
      any |= holds;
      all &= holds;
      same &= t == Truth::kFalse ? !holds : holds == Holds(after, at);
    });
    CHECK(same);
    if (t == Truth::kTrue) CHECK(all);
    decided += !any ? t == Truth::kFalse : 0;
    CHECK(after.constraints.size() <= before.constraints.size());
  }
  std::cout << "predicates found empty: " << decided << '\n';
  CHECK(decided > 20);
}

TEST_CASE("random implications are true where they are proven") {
  std::mt19937 random(2);
  const S s;
  int proven = 0, true_ones = 0;
  for (int round = 0; round < kRandom; ++round) {
    const std::vector<Constraint> p = RandomConstraints(random, 3);
    const Constraint c = RandomConstraint(random);
    bool implied = true;
    ForEachPoint([&](const Point& at) { implied &= !Holds(p, at) || Holds(c, at); });
    Work work;
    const bool shown = ProvesImplied(p, c, s.box, work);
    if (shown) CHECK(implied);
    proven += shown;
    true_ones += implied;
  }
  std::cout << "implications proven: " << proven << " of " << true_ones << '\n';
  CHECK(proven * 10 >= true_ones * 9);
}

TEST_CASE("random negations") {
  std::mt19937 random(3);
  const S s;
  for (int round = 0; round < kRandom; ++round) {
    const Constraint c = RandomConstraint(random);
    const auto negated = Negate(c, s.box);
    REQUIRE(negated);
    bool same = true;
    ForEachPoint([&](const Point& at) {
      const bool either = std::any_of(negated->begin(), negated->end(),
                                      [&](const Constraint& n) { return Holds(n, at); });
      same &= either != Holds(c, at);
    });
    CHECK(same);
  }
}

TEST_CASE("exists: what is eliminated is exact") {
  std::mt19937 random(4);
  const S s;
  int solved = 0;
  for (int round = 0; round < kRandom; ++round) {
    const Predicate p = RandomPredicate(random);
    Work work;
    const auto without = EliminateExists(S::k, p, s.box, work);
    if (!without) continue;
    ++solved;
    for (const Constraint& c : without->constraints) REQUIRE(c.e.Coeff(S::k) == 0);
    bool same = true;
    ForEachPoint([&](Point at) {
      if (at[S::k] != 0) return;
      bool some = false;
      for (; at[S::k] < 3; ++at[S::k]) some |= Holds(p, at);
      at.erase(S::k);
      same &= some == Holds(*without, at);
    });
    CHECK(same);
  }
  std::cout << "exists solved directly: " << solved << " of " << kRandom << '\n';
  CHECK(solved > kRandom / 2);
}

TEST_CASE("the points of an equality of two indices, by its step") {
  for (int64_t a = -5; a <= 5; ++a) {
    for (int64_t b = -5; b <= 5; ++b) {
      for (int64_t c = -6; c <= 6; ++c) {
        Constraint zero{I(a) + J(b) + C(c), true};
        if (a == 0 || b == 0 || LowestTerms(zero) == Truth::kFalse) continue;
        const auto line = SolveLine(zero.e, S::i, S::j);
        REQUIRE(line);
        std::vector<std::pair<int64_t, int64_t>> along, found;
        for (int64_t t = 0; t <= 20; ++t) {
          const int64_t i = line->first + line->step * t;
          if (i <= 20) along.push_back({i, line->start + line->slope * t});
        }
        for (int64_t i = 0; i <= 20; ++i) {
          for (int64_t j = -60; j <= 60; ++j) {
            if (a * i + b * j + c == 0) found.push_back({i, j});
          }
        }
        std::erase_if(along, [](const auto& at) { return at.second < -60 || at.second > 60; });
        CHECK(along == found);
      }
    }
  }
}

// Not timed: a limit on how many combinations of constraints what occurs in programs takes.
TEST_CASE("boxes and substitutions take no search") {
  S s;
  Work work;
  const Affine n = Affine::Of(S::n);
  // Stencils, triangles, slices: each is decided by corners or one pair of constraints.
  std::vector<Constraint> stencil{{I() - C(1), false}, {n - C(2) - I(), false}};
  Simplify(stencil, s.box, work);
  std::vector<Constraint> triangle{{J() - I(), false}, {n - C(1) - J(), false}};
  Simplify(triangle, s.box, work);
  CHECK(work.steps <= 64);
  Work pinned;
  CHECK(EliminateExists(S::j, {{{J() - I() - C(1), true}}, {}}, s.box, pinned));
  CHECK(pinned.steps <= 2);
}

TEST_CASE("the budget ends a search, and nothing is claimed") {
  S s;
  Work work{0};
  CHECK_FALSE(ProvesEmpty({{I() + J() - C(9), false}, {C(3) - I() - J() - Affine::Of(S::p), false}},
                          s.box, work));
  CHECK(work.steps <= 1);
}

}  // namespace
}  // namespace pullback::analysis
