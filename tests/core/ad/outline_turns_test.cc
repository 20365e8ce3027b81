// Loops whose turns only add to what they carry: kept on the tape, or run again.
#include "core/ad/outline_turns.h"

#include <catch2/catch.hpp>
#include <random>

#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "tests/support/derivatives.h"
#include "tests/support/looped_softmax.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

using ad::Mixed;
using pipeline::Transform;

struct Program {
  const char* name;
  std::string text;
  std::vector<Tensor> args;
  bool found = true;
};

const std::string kRow =
    "fn row(x: f64, y: [m]f64) -> f64 { return dot(looped_softmax(x * y), y) }\n";

std::vector<Program> Programs() {
  const Tensor x = Vec({0.3, -0.4, 1.7}), y = Vec({0.5, -1.2, 0.8, 0.1}), s = Tensor::F64(0.7);
  const Tensor a = Mat(3, 4, {0.1, 0.7, -0.3, 0.4, 1.1, -0.2, 0.6, 0.9, -0.8, 0.3, 0.2, -1.4});
  return {
      {"a sum",
       kRow + "fn f(x: [n]f64, y: [m]f64) -> f64 { return sum i < n { row(x[i], y) } }",
       {x, y}},
      {"rows, of as many elements as the result has",
       "fn f(x: [n]f64, y: [m]f64) -> [n, m]f64 { return gen i < n { looped_softmax(x[i] * y) } }",
       {x, y},
       false},
      {"rows of a matrix, a captured scalar, a factor behind the loop",
       "fn f(a: [n, m]f64, y: [m]f64, s: f64) -> f64 {\n"
       "  return s * (sum i < n { s * dot(looped_softmax(a[i] * s), y) }) }",
       {a, y, s}},
      {"elements of what is captured, forwards and backwards",
       kRow + "fn f(x: [n]f64, y: [m]f64) -> f64 {\n"
              "  return sum i < n { row(x[i], y) * x[n - 1 - i] + y[i] } }",
       {x, y}},
      {"a loop of the user's with two sums, one of them scaled",
       kRow + "fn f(x: [n]f64, y: [m]f64, s: f64) -> f64 {\n"
              "  var p = s\n  var q = 0.0\n"
              "  for i < n { let r = looped_softmax(y * x[i])\n  p += dot(r, y)\n  q = q * s + "
              "r[0] }\n"
              "  return p * q }",
       {x, y, s}},
      {"elements that a loop stores",
       kRow + "fn f(x: [n]f64, y: [m]f64) -> [n]f64 {\n"
              "  var z = x\n  for i < n { z[n - 1 - i] = row(x[i], y) * 2.0 }\n  return z }",
       {x, y}},
      {"sums of sums",
       kRow + "fn f(x: [n]f64, y: [m]f64) -> f64 {\n"
              "  return sum i < n { sum j < n { row(x[i] * x[j], y) } * x[i] } }",
       {x, y}},
      {"no turn, and a size that only a turn knows",
       "fn f(x: [n]f64, y: [m]f64, k: i64) -> f64 {\n"
       "  let none = sum i < k { dot(looped_softmax(x[i] * y), y) }\n"
       "  return none + (sum i < n { sum(looped_softmax(y[0:i + 1] * x[i])) * y[i] }) }",
       {x, y, Tensor::I64(0)}},
      {"a turn without control flow",
       "fn f(x: [n]f64, y: [m]f64) -> f64 {\n"
       "  var s = 0.0\n  for i < n { let z = sin.(x[i] * y)\n  s += dot(z, z) }\n  return s }",
       {x, y}},
      {"a size that data say",
       "fn f(x: [n]f64, y: [m]f64, k: [n]i64) -> f64 {\n"
       "  return sum i < n { sum j < k[i] + 1 { exp(dot(sin.((x[i] * y[j]) * y), y)) } } }",
       {x, y, Tensor::Of(DType::kI64, {3}, std::vector<int64_t>{3, -1, 0})}},
      {"what follows from the turn before",
       kRow + "fn f(x: [n]f64, y: [m]f64) -> f64 {\n"
              "  var s = 0.1\n"
              "  for i < n { s = s + row(s * x[i], y) }\n"
              "  return s }",
       {x, y},
       false},
      {"more work than elements",
       "fn f(a: [n, m]f64, x: [n]f64, y: [m]f64) -> f64 {\n"
       "  return sum i < n { sum(looped_softmax(a @ (x[i] * y))) * x[i] } }",
       {a, x, y},
       false},
      {"left early",
       kRow + "fn f(x: [n]f64, y: [m]f64) -> f64 {\n  var s = 0.0\n"
              "  for i < n { let t = row(x[i], y)\n  if t > 9.0 { break }\n"
              "  s += t }\n  return s }",
       {x, y},
       false},
  };
}

ir::Module PulledBack(const ir::Module& ssa, Mixed mixed, bool optimise = true) {
  pipeline::Options options;
  options.mixed = mixed;
  options.optimise = optimise;
  const std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
  auto staged = pipeline::Derive(ssa, Transform::kVjp, wrt, options);
  INFO(staged.status().message());
  REQUIRE(staged.ok());
  return std::move(staged->final);
}

// What derives is what inlining has left.
ir::Module Inlined(const Program& p) {
  const ir::Module ssa = LowerText(kLoopedSoftmax + p.text, "f");
  const std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
  auto staged = pipeline::Derive(ssa, Transform::kValue, wrt, {});
  REQUIRE(staged.ok());
  return std::move(staged->ssa);
}

TEST_CASE("turns: which loops are outlined") {
  for (const Program& p : Programs()) {
    INFO(p.name << "\n" << p.text);
    for (const Mixed mixed : {Mixed::kAuto, Mixed::kRecomputed, Mixed::kCached}) {
      ir::Module m = Inlined(p);
      const size_t functions = m.functions.size();
      const uint32_t made = ad::OutlineTurns(m, m.entry, mixed);
      INFO(ir::Print(m));
      REQUIRE(ir::Verify(m).ok());
      const bool expected = p.found && mixed != Mixed::kCached;
      CHECK((made != m.entry) == expected);
      if (!expected) CHECK(m.functions.size() == functions);  // nothing is left behind
      CHECK((CountText(ir::Print(m.Get(made), m), "call checkpoint @") > 0) == expected);
      // The outlined function is the function.
      const std::vector<Tensor> before = RunOk(m, p.args);
      m.entry = made;
      const std::vector<Tensor> after = RunOk(m, p.args);
      for (size_t k = 0; k < before.size(); ++k) CHECK(SameBits(before[k], after[k]));
    }
  }
}

// The bits of kept turns; where each turn is reversed behind itself (core/ad/adders.h), within rounding, since cotangents are
// added up from the first turn on.
TEST_CASE("turns: kept or run again, derivatives are the same") {
  std::mt19937 random(5);
  for (const Program& p : Programs()) {
    INFO(p.name << "\n" << p.text);
    const ir::Module ssa = LowerText(kLoopedSoftmax + p.text, "f");
    std::vector<Tensor> args = p.args;
    args.push_back(RandomLike(RunOk(ssa, p.args)[0], random));
    for (const bool optimise : {true, false}) {
      const auto kept = RunOk(PulledBack(ssa, Mixed::kCached, optimise), args);
      for (const Mixed mixed : {Mixed::kAuto, Mixed::kRecomputed}) {
        const auto again = RunOk(PulledBack(ssa, mixed, optimise), args);
        REQUIRE(again.size() == kept.size());
        for (size_t k = 0; k < kept.size(); ++k) {
          INFO((optimise ? "optimised" : "as built") << ", result " << k);
          if (mixed == Mixed::kRecomputed) {
            CHECK(SameBits(again[k], kept[k]));
          } else {
            const std::vector<double> x = Doubles(again[k]), y = Doubles(kept[k]);
            for (size_t e = 0; e < x.size(); ++e) CHECK(x[e] == Approx(y[e]).epsilon(1e-12));
          }
        }
      }
    }
    CheckDerivatives(ssa, p.args, 1e-4);
  }
}

// Of 2^21 elements and fewer the tape keeps them; one more, and the turns are run again.
TEST_CASE("turns: a run decides by its sizes") {
  ir::Module m = Inlined(Programs()[0]);
  m.entry = ad::OutlineTurns(m, m.entry, Mixed::kAuto);
  const std::string text = ir::Print(m.Get(m.entry), m);
  INFO(text);
  CHECK(CountText(text, "2097152.0") == 1);
  CHECK(CountText(text, "cast %n : f64") == 1);
  // Turns without control flow keep more, and what data say is added up in front.
  for (const size_t program : {8, 9}) {
    ir::Module straight = Inlined(Programs()[program]);
    straight.entry = ad::OutlineTurns(straight, straight.entry, Mixed::kAuto);
    const std::string again = ir::Print(straight.Get(straight.entry), straight);
    INFO(again);
    CHECK(CountText(again, "16777216.0") == 1);
    CHECK((CountText(again.substr(0, again.find("b1(")), "} sum []") > 0) == (program == 9));
  }
  // A size that is made inside is not known in front: run again.
  ir::Module inside = Inlined(Programs()[7]);
  inside.entry = ad::OutlineTurns(inside, inside.entry, Mixed::kAuto);
  const std::string other = ir::Print(inside.Get(inside.entry), inside);
  INFO(other);
  CHECK(CountText(other, "call checkpoint @") == 2);
  CHECK(CountText(other, "2097152.0") == 1);
}

}  // namespace
}  // namespace pullback::testing
