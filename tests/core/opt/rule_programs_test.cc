// Every rule of Figure 8 that a pass applies has a program here, as small as it gets, in which a whole compilation
// applies it; off and short of fuel the same program gives the same value. Patterns are in rules_test.cc.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core/ir/printer.h"
#include "core/opt/rules.h"
#include "tests/support/derivatives.h"
#include "tests/support/generator.h"
#include "tests/support/values.h"

namespace pullback::opt {
namespace {

using pipeline::Options;
using pipeline::Staged;
using pipeline::Transform;

struct RuleProgram {
  RuleId rule;
  std::string text;  // of the language, or of the IR: "fn @f"
  std::vector<Tensor> args;
  bool shows = true;  // in the final IR; else the normal form of statements does the same later on
};

const Tensor kX = testing::Vec({1.5, -2, 0.25});
const Tensor kN = Tensor::I64(2);

const std::vector<RuleProgram>& RulePrograms() {
  static const std::vector<RuleProgram> programs = {
      {RuleId::kInline,
       "fn g(x: f64) -> f64 { return x * sin(x) }\n"
       "fn f(x: f64) -> f64 { return g(x) + 1.0 }",
       {Tensor::F64(0.5)}},
      {RuleId::kInlineInStatement,
       "fn g(x: f64) -> f64 { if x > 0.0 { return sin(x) }  return exp(x) }\n"
       "fn f(x: [n]f64) -> [n]f64 { return gen i < n { g(x[i]) } }",
       {kX}},
      {RuleId::kInlineLet,
       R"(fn @f(%x: f64, %c: bool) -> f64 {
b0:
  %u = sin %x
  br %c, b1, b2
b1:
  jump b3(%u)
b2:
  %v = cos %x
  jump b4(%v)
b3(%y: f64):
  ret add(%y, 1.0)
b4(%z: f64):
  ret mul(%z, 3.0)
})",
       {Tensor::F64(0.5), Tensor::Bool(false)}},
      {RuleId::kDeadLet,
       R"(fn @f(%x: f64) -> f64 {
b0:
  %y = sin %x
  ret %x
})",
       {Tensor::F64(0.5)}},
      {RuleId::kCommonSubexpression,
       "fn f(x: f64) -> f64 { return sin(x) * sin(x) }",
       {Tensor::F64(0.5)}},
      {RuleId::kFloatInvariant,
       R"(fn @f(%x: [*]f64, %k: i64) -> f64 {
b0:
  jump b1(0, 0.0)
b1(%i: i64, %s: f64):
  %n = dim %x, 0
  br lt(%i, %k), b2, b3
b2:
  %m = affine %n - 1
  %p = each(a < %n, b < %m) {
    %u = index %x[%a]
    %v = index %x[%b]
    %w = mul %u, %v
  } sum []: %w
  jump b1(add(%i, 1), add(%s, %p))
b3:
  ret %s
})",
       {kX, kN}},
      {RuleId::kFloatInvariantStatement,
       "fn f(x: [n]f64, k: i64) -> f64 {\n  var s = 0.0\n"
       "  for i in 0..k { s = s * 0.5 + sum j < n { x[j] * x[j] } }\n  return s\n}",
       {kX, kN}},
      {RuleId::kGetOfBuild,
       "fn f(x: [n]f64) -> f64 {\n  let y = gen i < n { x[i] * 2.0 }\n"
       "  return sum i < n { y[i] }\n}",
       {kX}},
      {RuleId::kGetOfZeros,
       "fn f(x: [n]f64) -> f64 {\n  let z = zeros(n)\n  return sum i < n { x[i] + z[i] }\n}",
       {kX}},
      {RuleId::kBuildOfGet,
       R"(fn @f(%x: [*]f64) -> [*]f64 {
b0:
  %n = dim %x, 0
  %y = each(i < %n) {
    %v = index %x[%i]
  } gen [%i] of (%n): %v
  ret %y
})",
       {kX}},
      {RuleId::kMergeIntoProducer,
       R"(fn @f(%x: [*]f64, %bar: [*]f64) -> ([*]f64, [*]f64) {
b0:
  %n = dim %x, 0
  %y, %p = each(i < %n) {
    %a = index %x[%i]
    %v, %d = call @g(%a)
  } gen [%i] of (%n): %v, gen [%i] of (%n): %d
  %xbar = each(k < %n) {
    %w = index %bar[%k]
    %q = index %p[%k]
    %r = mul %w, %q
  } gen [%k] of (%n): %r
  ret %y, %xbar
}
fn @g(%x: f64) -> (f64, f64) {
b0:
  %s = sin %x
  %c = cos %x
  ret %s, %c
})",
       {kX, kX}},
      {RuleId::kMergeReaders,
       R"(fn @f(%u: [*]f64, %v: [*]f64) -> (f64, [*]f64) {
b0:
  %n = dim %u, 0
  %m = dim %v, 0
  %y = each(i < %n, j < %m) {
    %a = index %u[%i]
    %b = index %v[%j]
    %p = mul %a, %b
  } gen [%i, %j] of (%n, %m): %p
  %s = each(i < %n, j < %m) {
    %c = index %y[%i, %j]
    %q = mul %c, %c
  } sum []: %q
  %dv = each(k < %n, l < %m) {
    %d = index %y[%k, %l]
    %e = index %u[%k]
    %r = mul %d, %e
  } sum [%l] of (%m): %r
  ret %s, %dv
})",
       {kX, testing::Vec({3, 4})}},
      {RuleId::kGuardTrue,
       "fn f(x: [n]f64) -> f64 { return sum i < n { [1 > 0] * x[i] + x[0] } }",
       {kX},
       false},
      {RuleId::kBranchTrue,
       "fn f(x: f64) -> f64 { if 2 > 1 { return sin(x) }  return cos(x) }",
       {Tensor::F64(0.5)}},
      {RuleId::kBranchFalse,
       "fn f(x: f64) -> f64 { if 2 < 1 { return sin(x) }  return cos(x) }",
       {Tensor::F64(0.5)}},
      {RuleId::kBranchEqualArms,
       R"(fn @f(%x: f64, %c: bool) -> f64 {
b0:
  br %c, b1, b1
b1:
  ret sin(%x)
})",
       {Tensor::F64(0.5), Tensor::Bool(true)}},
      {RuleId::kCheckTrue,
       R"(fn @f(%x: [*]f64) -> f64 {
b0:
  %n = dim %x, 0
  check eq(%n, %n), size_mismatch, %n, %n
  %v = index %x[0]
  ret %v
})",
       {kX}},
      {RuleId::kConditionInArms,
       "fn f(x: f64) -> f64 {\n  let c = x > 0.0\n  if c { if c { return sin(x) }  return x }\n"
       "  return cos(x)\n}",
       {Tensor::F64(0.5)}},
      {RuleId::kEqualInArms,
       "fn f(k: i64, m: i64) -> i64 {\n  if k == m { return k * m + m }\n  return k\n}",
       {kN, kN}},
      {RuleId::kLoopNeverEntered,
       "fn f(x: f64) -> f64 {\n  var s = x\n  for i in 3..1 { s = s * x }\n  return s\n}",
       {Tensor::F64(0.5)}},
      {RuleId::kLoopPeeled,
       "fn f(x: f64) -> f64 {\n  var s = x\n  for i in 0..2 { s = s * x }\n  return s\n}",
       {Tensor::F64(0.5)}},
      {RuleId::kSumPeeled, "fn f(x: [n]f64) -> f64 { return sum i < 3 { x[i] * x[i] } }", {kX}},
      {RuleId::kLoopIdentityBody,
       R"(fn @f(%x: f64, %n: i64) -> f64 {
b0:
  jump b1(%x, 0, 1.0)
b1(%same: f64, %i: i64, %r: f64):
  br lt(%i, %n), b2, b3
b2:
  jump b1(%same, add(%i, 1), mul(%r, %same))
b3:
  ret %r
})",
       {Tensor::F64(0.5), kN}},
      {RuleId::kLoopWithoutResult,
       "fn f(x: f64, k: i64) -> f64 {\n  var s = x\n  for i in 0..k { s = s * x }\n  return x\n}",
       {Tensor::F64(0.5), kN}},
      {RuleId::kLoopSingleHit,
       "fn f(x: [n]f64, k: i64) -> f64 {\n  var s = 1.0\n"
       "  for i in 0..n { if i == k { s = s * x[i] } }\n  return s\n}",
       {kX, kN}},
      {RuleId::kSumSingleHit,
       "fn f(x: [n]f64, k: i64) -> f64 { return sum i < n { [i == k] * x[i] } }",
       {kX, kN}},
      {RuleId::kFissionWithProjection,
       "fn f(x: [n]f64) -> f64 {\n  var s = 0.0\n  var t = 1.0\n"
       "  for i in 0..n {\n    s = s * 0.5 + x[i]\n    t = t * x[i]\n  }\n  return s\n}",
       {kX}},
      {RuleId::kFissionOfInvariants,
       "fn f(x: [n]f64, k: i64) -> f64 {\n  var y = x\n"
       "  for j in 0..k { y = gen i < n { sin(x[i]) * y[i] } }\n  return sum(y)\n}",
       {kX, kN}},
  };
  return programs;
}

ir::Module Lower(const std::string& text) {
  if (text.starts_with("fn @")) return testing::ParseIr("entry @f\n" + text);
  return testing::LowerText(text, "f");
}

std::vector<double> Run(const ir::Module& m, const std::vector<Tensor>& args) {
  std::vector<double> values;
  for (const Tensor& t : testing::RunOk(m, args)) {
    if (t.dtype == DType::kI64) {
      for (int64_t k = 0; k < t.ElementCount(); ++k)
        values.push_back(static_cast<double>(t.At<int64_t>(k)));
    }
    for (double v : testing::FloatsOf(t)) values.push_back(v);
  }
  return values;
}

// A module as compiled under options, and what it gives.
struct Compiled {
  Compiled(const ir::Module& ssa, Transform transform, const Options& options,
           const std::vector<Tensor>& args) {
    const std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
    StatusOr<Staged> staged = pipeline::Derive(ssa, transform, wrt, options);
    INFO(staged.status().ToString());
    REQUIRE(staged.ok());
    rules = staged->rules;
    values = Run(staged->final, args);
    text = ir::Print(staged->final);
  }
  RuleCounts rules;
  std::vector<double> values;
  std::string text;
};

Options Without(Family family) {
  Options options;
  options.rule_families &= ~(1U << static_cast<int>(family));
  return options;
}

void CheckNear(const std::vector<double>& got, const std::vector<double>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    INFO("value " << k);
    REQUIRE(got[k] == Approx(wanted[k]).epsilon(1e-9).margin(1e-12));
  }
}

// Every compilation with less fuel than it can use, or some of these; gives the values of the plain one.
void CheckFuel(const ir::Module& ssa, Transform transform, const std::vector<Tensor>& args,
               uint64_t most_samples) {
  Options plain;
  plain.optimise = false;
  const Compiled written(ssa, transform, plain, args), full(ssa, transform, {}, args);
  CHECK(written.rules.Total() == 0);
  CheckNear(full.values, written.values);
  // Applications come in groups (what moves out of a loop, what lives on with what it needs), so less may be used.
  const uint64_t total = full.rules.Total(), step = 1 + total / most_samples;
  for (uint64_t fuel = 0; fuel <= total + step; fuel += step) {
    INFO("fuel " << fuel << " of " << total);
    Options options;
    options.rule_fuel = fuel;
    const Compiled some(ssa, transform, options, args);
    REQUIRE(some.rules.Total() <= fuel);
    REQUIRE(some.rules.Total() + some.rules.fuel == fuel);
    if (fuel >= total) CHECK(some.text == full.text);
    CheckNear(some.values, written.values);
  }
}

TEST_CASE("rules: each that a pass applies has a program, and no program is of another") {
  std::map<RuleId, int> programs;
  for (const RuleProgram& p : RulePrograms()) ++programs[p.rule];
  for (const Rule& rule : Rules()) {
    INFO(rule.name);
    const int wanted = rule.by == Rule::AppliedBy::kPass ? 1 : 0;
    CHECK(programs[FindRule(rule.name)] == wanted);
    CHECK(rule.IsPattern() == std::string_view(rule.note).empty());
  }
}

TEST_CASE("rules: each is applied to its program, and is not where its family is off") {
  for (const RuleProgram& p : RulePrograms()) {
    const Rule& rule = Get(p.rule);
    INFO(rule.name << "\n" << p.text);
    const ir::Module ssa = Lower(p.text);
    Options plain;
    plain.optimise = false;
    const Compiled written(ssa, Transform::kValue, plain, p.args);
    const Compiled with(ssa, Transform::kValue, {}, p.args);
    CHECK(with.rules.Of(p.rule) > 0);
    CheckNear(with.values, written.values);
    const Compiled without(ssa, Transform::kValue, Without(rule.family), p.args);
    CheckNear(without.values, written.values);
    CHECK((without.text != with.text) == p.shows);  // not done behind the table's back
    for (const Rule& other : Rules()) {
      INFO(other.name);
      if (other.by == Rule::AppliedBy::kNobody) CHECK(with.rules.Of(FindRule(other.name)) == 0);
      if (other.family == rule.family) CHECK(without.rules.Of(FindRule(other.name)) == 0);
    }
  }
}

TEST_CASE("rules: with any fuel a program gives the same value, and no more is rewritten") {
  for (const RuleProgram& p : RulePrograms()) {
    INFO(Get(p.rule).name << "\n" << p.text);
    CheckFuel(Lower(p.text), Transform::kValue, p.args, 40);
  }
}

TEST_CASE("rules: with any fuel a gradient is the same, and no more is rewritten") {
  for (const RuleId rule :
       {RuleId::kInlineInStatement, RuleId::kFloatInvariantStatement, RuleId::kGetOfBuild,
        RuleId::kConditionInArms, RuleId::kLoopPeeled, RuleId::kLoopSingleHit,
        RuleId::kSumSingleHit, RuleId::kFissionWithProjection, RuleId::kFissionOfInvariants}) {
    for (const RuleProgram& p : RulePrograms()) {
      if (p.rule != rule) continue;
      INFO(Get(rule).name << "\n" << p.text);
      const ir::Module ssa = Lower(p.text);
      const ir::Function& f = ssa.Get(ssa.entry);
      std::vector<Tensor> args = p.args;
      const bool scalar = !f.results[0].IsArray();
      if (!scalar) args.push_back(kX);  // the cotangent
      CheckFuel(ssa, scalar ? Transform::kValueAndGrad : Transform::kVjp, args, 25);
    }
  }
}

TEST_CASE("rules: random programs with little fuel, and with a family off") {
  for (const testing::Kind kind : {testing::Kind::kControlFlow, testing::Kind::kTensor}) {
    for (uint32_t seed = 0; seed < 12; ++seed) {
      testing::Coverage coverage;
      const testing::GeneratedProgram p = testing::GenerateProgram(kind, seed, &coverage);
      INFO(p.text);
      const ir::Module ssa = testing::LowerText(p.text, p.entry);
      CheckFuel(ssa, Transform::kValueAndGrad, p.args, 8);
      Options plain;
      plain.optimise = false;
      const Compiled written(ssa, Transform::kValueAndGrad, plain, p.args);
      for (int k = 0; k < kFamilyCount; ++k) {
        const auto family = static_cast<Family>(k);
        INFO("without " << FamilyName(family));
        const Compiled without(ssa, Transform::kValueAndGrad, Without(family), p.args);
        CheckNear(without.values, written.values);
        for (const Rule& rule : Rules()) {
          if (rule.family == family) CHECK(without.rules.Of(FindRule(rule.name)) == 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pullback::opt
