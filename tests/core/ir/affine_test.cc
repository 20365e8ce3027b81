#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

#include "core/ir/ir.h"

namespace pullback::ir {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr Value kI{3}, kJ{5};

Affine I() { return Affine::Of(kI); }
Affine J() { return Affine::Of(kJ); }
Affine C(int64_t c) { return Affine::Const(c); }

TEST_CASE("affine: sums are sorted, merged and drop what cancels") {
  const Affine a = J() * 2 + I() + C(1);
  CHECK(a.terms == Affine::Terms{{kI, 1}, {kJ, 2}});
  CHECK(a.constant == 1);
  CHECK(a - a == C(0));
  CHECK((a - J() * 2).terms.size() == 1);
  CHECK(a * 0 == C(0));
}

TEST_CASE("affine: a single value is itself, everything else is not") {
  CHECK(I().AsValue() == kI);
  CHECK_FALSE((I() + C(1)).AsValue().valid());
  CHECK_FALSE((I() * 2).AsValue().valid());
  CHECK_FALSE((I() + J()).AsValue().valid());
  CHECK_FALSE(C(0).AsValue().valid());
}

TEST_CASE("affine: substitution replaces a value by a form") {
  const Affine a = I() * 3 + J() + C(1);
  CHECK(a.Substitute(kI, J() - C(2)) == J() * 4 - C(5));
  CHECK(a.Substitute(kI, I() + J()) == I() * 3 + J() * 4 + C(1));
  CHECK(a.Substitute(Value{9}, C(7)) == a);
}

TEST_CASE("affine: coefficients") {
  const Affine a = I() * 3 - J();
  CHECK(a.Coeff(kI) == 3);
  CHECK(a.Coeff(kJ) == -1);
  CHECK(a.Coeff(Value{1}) == 0);
}

TEST_CASE("affine: arithmetic wraps") {
  CHECK((C(kMin) - C(1)).constant == std::numeric_limits<int64_t>::max());
  CHECK((C(kMin) * -1).constant == kMin);
  CHECK((I() * kMin * 2) == C(0));
}

TEST_CASE("affine: canonicalising after a renaming sorts and merges again") {
  Affine a{1, {{kJ, 2}, {kI, 1}, {kJ, -2}}};
  Canonicalise(a);
  CHECK(a == I() + C(1));

  Inst inst;
  inst.op = Op::Each;
  inst.each = std::make_unique<Each>();
  inst.each->where.push_back({Affine{0, {{kJ, 1}, {kI, 1}}}, false});
  inst.each->results.push_back({Monoid::kGen, {Affine{0, {{kJ, 1}, {kJ, -1}}}}, {}, kI, kNoValue});
  inst.each->body.emplace_back().subs = {Affine{0, {{kI, 1}, {kI, 1}}}};
  CanonicaliseAffines(inst);
  CHECK(inst.each->where[0].e == I() + J());
  CHECK(inst.each->results[0].out[0] == C(0));
  CHECK(inst.each->body[0].subs[0] == I() * 2);
}

}  // namespace
}  // namespace pullback::ir
