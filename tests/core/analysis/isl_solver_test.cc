// What only isl solves, against enumeration; what happens at its cap.
#include "core/analysis/isl_solver.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>

#include "core/analysis/eliminate.h"
#include "tests/core/analysis/points.h"

namespace pullback::analysis {
namespace {

using ir::Affine;
using ir::Constraint;
using S = SmallBox;

// m * k <= i <= m * k + 1, a bound in multiples on both sides.
Predicate Pairs(int64_t m) { return {{{I() - K(m), false}, {K(m) + C(1) - I(), false}}, {}}; }

bool HoldsSome(const std::vector<Predicate>& pieces, const Point& at) {
  for (const Predicate& p : pieces) {
    if (Holds(p, at)) return true;
  }
  return false;
}

TEST_CASE("this build has isl") { REQUIRE(HasIsl()); }

TEST_CASE("exists by isl: random predicates against enumeration") {
  std::mt19937 random(5);
  const S s;
  int solved = 0, only_isl = 0;
  constexpr int kRounds = 120;
  for (int round = 0; round < kRounds; ++round) {
    const Predicate p = RandomPredicate(random);
    const auto pieces = IslExists({S::k}, p, s.box);
    if (!pieces) continue;
    ++solved;
    Work work;
    only_isl += !EliminateExists(S::k, p, s.box, work);
    bool same = true;
    ForEachPoint([&](Point at) {
      if (at[S::k] != 0) return;
      bool some = false;
      for (; at[S::k] < 3; ++at[S::k]) some |= Holds(p, at);
      at.erase(S::k);
      same &= some == HoldsSome(*pieces, at);
    });
    CHECK(same);
  }
  std::cout << "exists by isl: " << solved << " of " << kRounds << ", not directly: " << only_isl
            << '\n';
  CHECK(solved > kRounds / 2);
  CHECK(only_isl > 3);
}

TEST_CASE("emptiness by isl is exact") {
  std::mt19937 random(6);
  const S s;
  int empty = 0;
  for (int round = 0; round < 120; ++round) {
    const Predicate p = RandomPredicate(random);
    bool any = false;
    ForEachPoint([&](const Point& at) { any |= Holds(p, at); });
    // i, j and k are always among what isl sees only where they occur: an empty box is not asked about.
    Predicate asked = p;
    for (const ir::Value v : {S::i, S::j, S::k})
      asked.constraints.push_back({Affine::Of(v), false});
    const Truth t = IslIsEmpty(asked, s.box);
    CHECK(t == (any ? Truth::kFalse : Truth::kTrue));
    empty += !any;
  }
  CHECK(empty > 10);
}

TEST_CASE("bounds in multiples on both sides") {
  const S s;
  Work work;
  CHECK_FALSE(EliminateExists(S::k, Pairs(2), s.box, work));
  // Every i below 6, and the box says that.
  auto pieces = IslExists({S::k}, Pairs(2), s.box);
  REQUIRE(pieces);
  REQUIRE(pieces->size() == 1);
  CHECK(Simplify(pieces->front(), s.box, work) == Truth::kTrue);
}

// Whether the pieces hold where p does for some values of `vars`.
bool AreExact(const std::vector<Predicate>& pieces, const Predicate& p,
              const std::vector<ir::Value>& vars) {
  bool same = true;
  ForEachPoint([&](Point at) {
    const bool first =
        std::all_of(vars.begin(), vars.end(), [&](ir::Value v) { return at[v] == 0; });
    if (!first) return;
    bool some = false;
    const auto extent = [&](ir::Value v) {
      return v == S::i ? at[S::n] : v == S::j ? at[S::m] : int64_t{3};
    };
    const auto loop = [&](const auto& self, size_t k) -> void {
      if (k == vars.size()) {
        some |= Holds(p, at);
        return;
      }
      for (at[vars[k]] = 0; at[vars[k]] < extent(vars[k]); ++at[vars[k]]) self(self, k + 1);
      at[vars[k]] = 0;
    };
    loop(loop, 0);
    for (const ir::Value v : vars) at.erase(v);
    same &= some == HoldsSome(pieces, at);
  });
  return same;
}

TEST_CASE("a union of residues has a quotient") {
  const S s;
  for (const int64_t m : {3, 4, 5}) {
    const auto pieces = IslExists({S::k}, Pairs(m), s.box);
    REQUIRE(pieces);
    REQUIRE(pieces->size() == 1);
    CHECK(pieces->front().quotients.size() == 1);
    CHECK(AreExact(*pieces, Pairs(m), {S::k}));
  }
}

TEST_CASE("a sum of two multiples has a quotient") {
  const S s;
  const Predicate p{{{I(2) + K(3) - Affine::Of(S::p) - C(4), true}}, {}};
  const auto pieces = IslExists({S::i, S::k}, p, s.box);
  REQUIRE(pieces);
  CHECK(AreExact(*pieces, p, {S::i, S::k}));
}

TEST_CASE("at the cap nothing is known, and nothing is claimed") {
  const S s;
  REQUIRE(IslExists({S::k}, Pairs(2), s.box));
  CHECK_FALSE(IslExists({S::k}, Pairs(2), s.box, {1, 4}));
  const Predicate p{{{I() - K(2), true}, {Affine::Of(S::n), false}}, {}};
  CHECK(IslIsEmpty(p, s.box) == Truth::kFalse);
  CHECK(IslIsEmpty(p, s.box, {1, 4}) == Truth::kUnknown);
}

TEST_CASE("more pieces than allowed: not solved") {
  const S s;
  CHECK_FALSE(IslExists({S::k}, Pairs(2), s.box, {100'000, 0}));
}

TEST_CASE("a constraint that may wrap is not given to isl") {
  const S s;
  const ir::Value wild{9};
  const Constraint c{Affine::Of(wild) * 3 - K(), true};
  CHECK_FALSE(IslExists({S::k}, {{c}, {}}, s.box));
  CHECK(IslIsEmpty({{c}, {}}, s.box) == Truth::kUnknown);
}

}  // namespace
}  // namespace pullback::analysis
