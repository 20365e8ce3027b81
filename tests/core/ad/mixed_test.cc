// Mixed mode: duals of called scalar functions in the forward or in the reverse pass.
#include "core/ad/mixed.h"

#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "tests/support/arity_text.h"
#include "tests/support/derivatives.h"
#include "tests/support/mixed_programs.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

using ad::Mixed;
using pipeline::Transform;

pipeline::Staged Stages(const ir::Module& ssa, Mixed mixed, bool optimise = true,
                        std::vector<bool> wrt = {}) {
  pipeline::Options options;
  options.mixed = mixed;
  options.optimise = optimise;
  wrt.resize(ssa.Get(ssa.entry).params().size(), wrt.empty());
  auto staged = pipeline::Derive(ssa, Transform::kVjp, wrt, options);
  INFO(staged.status().message());
  REQUIRE(staged.ok());
  return std::move(*staged);
}

std::vector<Tensor> WithSeed(const ir::Module& ssa, std::vector<Tensor> args) {
  std::mt19937 rng(3);
  args.push_back(RandomLike(RunOk(ssa, args)[0], rng));
  return args;
}

void CheckSameInEveryMode(const MixedProgram& p) {
  INFO(p.name << "\n" << p.text);
  const ir::Module ssa = LowerText(p.text, "f");
  const std::vector<Tensor> args = WithSeed(ssa, p.args);
  for (bool optimise : {true, false}) {
    INFO(optimise);
    const auto cached = RunOk(Stages(ssa, Mixed::kCached, optimise, p.wrt).final, args);
    const auto again = RunOk(Stages(ssa, Mixed::kRecomputed, optimise, p.wrt).final, args);
    const auto automatic = RunOk(Stages(ssa, Mixed::kAuto, optimise, p.wrt).final, args);
    REQUIRE(cached.size() == again.size());
    for (size_t k = 0; k < cached.size(); ++k) {
      INFO(k);
      CHECK(SameBits(cached[k], again[k]));
      CHECK(SameBits(cached[k], automatic[k]));
    }
  }
}

TEST_CASE("mixed mode: cached and recomputed give the same bits") {
  for (const MixedProgram& p : MixedPrograms()) CheckSameInEveryMode(p);
}

TEST_CASE("mixed mode: forward mode and differences agree") {
  for (const MixedProgram& p : MixedPrograms()) {
    INFO(p.name << "\n" << p.text);
    CheckDerivatives(LowerText(p.text, "f"), p.args, 1e-5, p.wrt);
  }
}

TEST_CASE("mixed mode: random functions, captured and expanded arguments") {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const MixedProgram p = RandomMixedProgram(seed);
    CheckSameInEveryMode(p);
    CheckDerivatives(LowerText(p.text, "f"), p.args, 1e-4);
  }
}

TEST_CASE("mixed mode: arity 1 to 10, uniform and divergent control flow") {
  for (int arity = 1; arity <= 10; ++arity) {
    for (bool uniform : {true, false}) {
      constexpr int64_t kRows = 4, kColumns = 5;
      MixedProgram p{std::to_string(arity), ArityText(arity, uniform, "f64"), {}};
      std::mt19937 rng(static_cast<uint32_t>(arity));
      const Tensor like = Mat(kRows, kColumns, std::vector<double>(kRows * kColumns));
      for (int k = 0; k < arity; ++k) p.args.push_back(RandomLike(like, rng));
      // Every arm, in each row or in all of one.
      std::vector<double> s;
      for (int k = 0; k < (uniform ? kRows : kRows * kColumns); ++k) s.push_back(k % 3 * 0.4);
      p.args.push_back(uniform ? Vec(s) : Mat(kRows, kColumns, s));
      p.wrt.assign(static_cast<size_t>(arity), true);
      p.wrt.push_back(false);
      CheckSameInEveryMode(p);
      CheckDerivatives(LowerText(p.text, "f"), p.args, 1e-5, p.wrt);
      const ir::Module final = Stages(LowerText(p.text, "f"), Mixed::kCached, true, p.wrt).final;
      CHECK(CountText(ir::Print(final), " = each(") == 1);
      CHECK(CountText(ir::Print(final), "call @") == 0);
    }
  }
}

const char* const kHeavy =
    "fn b(x: f64, y: f64) -> f64 {\n  if x > 0.0 { return exp(x) * tanh(y) }\n"
    "  return sin(x) * cos(y)\n}\n"
    "fn f(x: [n]f64, y: [n]f64) -> [n]f64 { return b.(x, y) }\n";
const char* const kLight =
    "fn b(x: f64, y: f64) -> f64 {\n  if x > 0.0 { return x * y }\n  return y\n}\n"
    "fn f(x: [n]f64, y: [n]f64) -> [n]f64 { return b.(x, y) }\n";

std::string Adjoint(const char* program, Mixed mixed) {
  return ir::Print(Stages(LowerText(program, "f"), mixed).adjoint);
}

TEST_CASE("mixed mode: the dual is one call, in the pass that is asked for") {
  const std::string cached = Adjoint(kHeavy, Mixed::kCached);
  CHECK(CountText(cached, "call @b.partials(") == 1);
  CHECK(CountText(cached, "call @b(") == 0);
  // The statement with the call gives the value and two partials.
  CHECK(CountText(cached, "gen [") == 3);
  const std::string again = Adjoint(kHeavy, Mixed::kRecomputed);
  CHECK(CountText(again, "call @b.partials(") == 1);
  CHECK(CountText(again, "call @b(") == 1);
  CHECK(CountText(again, "gen [") == 1);
  for (const std::string& text : {cached, again}) {
    CHECK(CountText(text, "push ") == 0);
  }
}

TEST_CASE("mixed mode: the cost decides") {
  CHECK(Adjoint(kHeavy, Mixed::kAuto) == Adjoint(kHeavy, Mixed::kCached));
  CHECK(Adjoint(kLight, Mixed::kAuto) == Adjoint(kLight, Mixed::kRecomputed));
  const auto function = [](const char* text) { return LowerText(text, "b"); };
  const ir::Module heavy = function(kHeavy), light = function(kLight);
  CHECK(ad::CostOfBody(heavy, heavy.entry) > 16);
  CHECK(ad::CostOfBody(light, light.entry) < 16);
  CHECK(ad::PrefersCached(heavy, heavy.entry, {true, true}));
  CHECK_FALSE(ad::PrefersCached(light, light.entry, {true, true}));
  // In a loop every turn would keep its partials.
  const std::string loop = std::string(kHeavy) +
                           "fn g(x: [n]f64, y: [n]f64) -> [n]f64 {\n  var r = x\n"
                           "  for k < 5 { r = f(r, y) }\n  return r\n}\n";
  const auto text = [&](Mixed mixed) {
    return ir::Print(Stages(LowerText(loop, "g"), mixed).adjoint);
  };
  CHECK(text(Mixed::kAuto) == text(Mixed::kRecomputed));
  CHECK(text(Mixed::kAuto) != text(Mixed::kCached));
}

int Statements(const ir::Module& m) { return CountText(ir::Print(m), " = each("); }

TEST_CASE("mixed mode: one fused statement, no call, no tape") {
  for (const MixedProgram& p : MixedPrograms()) {
    if (p.name.find("HM-LSTM") == std::string::npos) continue;
    const ir::Module final = Stages(LowerText(p.text, "f"), Mixed::kAuto, true, p.wrt).final;
    CHECK(CountText(ir::Print(final), "call @") == 0);
    CHECK(CountText(ir::Print(final), "tape") == 0);
  }
  const ir::Module heavy = LowerText(kHeavy, "f");
  CHECK(Statements(Stages(heavy, Mixed::kCached).final) == 1);
  CHECK(Statements(Stages(heavy, Mixed::kRecomputed).final) == 2);
}

// What our language has in place of side effects are traps: the one that is met, and where.
TEST_CASE("mixed mode: the fusion law, and traps") {
  const std::string traps =
      "fn b(x: f64, k: i64) -> f64 {\n  if x > 0.0 { return x * f64(6 / k) }\n  return sin(x)\n}\n"
      "fn g(x: f64, k: i64) -> f64 {\n  if x > 2.0 { return x * f64(1 % (k - 1)) }\n  return x\n}\n"
      "fn f(x: [n]f64, k: [n]i64) -> [n]f64 { return g.(b.(x, k), k) }\n"
      "fn unread(x: [n]f64, k: [n]i64) -> [n]f64 {\n  let y = b.(x, k)\n  return g.(x, k)\n}\n"
      "fn both(x: [n]f64, k: [n]i64) -> ([n]f64, [n]f64) {\n  let y = b.(x, k)\n"
      "  return (y, g.(y, k))\n}\n";
  const auto ints = [](const std::vector<int64_t>& v) {
    Tensor t{DType::kI64, {static_cast<int64_t>(v.size())}, {}};
    t.data.resize(8 * v.size());
    std::memcpy(t.data.data(), v.data(), t.data.size());
    return t;
  };
  // One loop: the array in between is not there, and neither is a call.
  const ir::Module fused = Derived(LowerText(traps, "f"), Transform::kValue);
  CHECK(Statements(fused) == 1);
  CHECK(CountText(ir::Print(fused), "gen [") == 1);
  // Read by others it is stored as well, by the same loop.
  const ir::Module both = Derived(LowerText(traps, "both"), Transform::kValue);
  CHECK(Statements(both) == 1);
  CHECK(CountText(ir::Print(both), "gen [") == 2);
  // An arm that is not taken does not trap.
  const auto kind = [&](const char* entry, const Tensor& x, const Tensor& k, bool optimise) {
    const auto r =
        eval::Run(Derived(LowerText(traps, entry), Transform::kValue, {}, optimise), {x, k});
    REQUIRE(r.ok());
    return r->trap ? static_cast<int>(r->trap->kind) : -1;
  };
  for (bool optimise : {true, false}) {
    CHECK(kind("f", Vec({-1, 2, -3}), ints({0, 2, 0}), optimise) == -1);
    CHECK(kind("f", Vec({-1, 2, 3}), ints({0, 2, 0}), optimise) ==
          static_cast<int>(ir::TrapKind::kDivideByZero));
    CHECK(kind("f", Vec({-1, 3, -3}), ints({0, 1, 0}), optimise) ==
          static_cast<int>(ir::TrapKind::kDivideByZero));
    CHECK(kind("both", Vec({-1, 2, 3}), ints({0, 2, 0}), optimise) ==
          static_cast<int>(ir::TrapKind::kDivideByZero));
  }
  // A trap of a value that nobody needs may vanish; none comes into being.
  CHECK(kind("unread", Vec({1, 1}), ints({0, 2}), true) == -1);
}

}  // namespace
}  // namespace pullback::testing
