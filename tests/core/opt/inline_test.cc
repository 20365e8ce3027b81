// How far inlining lets a module grow.
#include <catch2/catch.hpp>

#include "core/ir/verifier.h"
#include "core/opt/simplify.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

size_t Instructions(const ir::Module& m) {
  size_t n = 0;
  for (const auto& f : m.functions) {
    for (const ir::Block& b : f->blocks) n += b.insts.size();
  }
  return n;
}

// A function of so many operations, and maybe of calls of another one.
std::string Chain(const std::string& name, int operations, const std::string& callee, int calls) {
  std::string text = "fn @" + name + "(%v0: f64) -> f64 { b0:\n";
  int last = 0;
  for (int k = 0; k < operations + calls; ++k) {
    const std::string from = " %v" + std::to_string(last);
    text += "%v" + std::to_string(++last) + " = ";
    text += k < operations ? "mul" + from + ", 1.0001\n" : "call @" + callee + "(" + from + ")\n";
  }
  return text + "ret %v" + std::to_string(last) + " }\n";
}

ir::Module Inlined(const std::string& text, const std::string& entry) {
  ir::Module m = ParseIr("entry @" + entry + "\n" + text);
  const double expected = Scalar(RunOk(m, {Tensor::F64(0.75)})[0]);
  REQUIRE(opt::InlineCalls(m).ok());
  REQUIRE(opt::Simplify(m).ok());
  CHECK(Scalar(RunOk(m, {Tensor::F64(0.75)})[0]) == expected);
  return m;
}

TEST_CASE("inlining: calls that double at each level") {
  std::string text = Chain("f0", 30, "", 0);
  for (int level = 1; level <= 14; ++level) {
    text += Chain("f" + std::to_string(level), 10, "f" + std::to_string(level - 1), 2);
  }
  CHECK(Instructions(Inlined(text, "f14")) < 2000);  // 2^14 times 30 without a bound
}

TEST_CASE("inlining: small functions everywhere, large ones where there is one call") {
  CHECK(Inlined(Chain("small", 15, "", 0) + Chain("f", 5, "small", 20), "f").functions.size() == 1);
  CHECK(Inlined(Chain("large", 900, "", 0) + Chain("f", 5, "large", 1), "f").functions.size() == 1);
  CHECK(Inlined(Chain("large", 900, "", 0) + Chain("f", 5, "large", 2), "f").functions.size() == 2);
}

// Each of 12 functions has one call; their callers take them until they are full, the rest begins anew.
TEST_CASE("inlining: a chain of functions of one call each, with and without room") {
  std::string text = Chain("f0", 10, "", 0);
  for (int level = 1; level < 12; ++level) {
    text += Chain("f" + std::to_string(level), 10, "f" + std::to_string(level - 1), 1);
  }
  CHECK(Inlined(text, "f11").functions.size() == 1);
  ir::Module m = ParseIr("entry @f11\n" + text);
  const double expected = Scalar(RunOk(m, {Tensor::F64(0.75)})[0]);
  REQUIRE(opt::InlineCalls(m, 70).ok());
  REQUIRE(ir::Verify(m).ok());
  CHECK(Scalar(RunOk(m, {Tensor::F64(0.75)})[0]) == expected);
  CHECK(m.functions.size() == 4);
}

TEST_CASE("inlining: functions on a cycle stay, what they call does not") {
  ir::Module m = ParseIr(R"(entry @f
fn @leaf(%x: f64) -> f64 { b0: ret mul(%x, 0.5) }
fn @even(%x: f64, %n: i64) -> f64 { b0:
  %done = le %n, 0
  br %done, b1, b2
b1: ret %x
b2: %half = call @leaf(%x) %r = call @odd(%half, sub(%n, 1)) ret %r }
fn @odd(%x: f64, %n: i64) -> f64 { b0: %r = call @even(%x, sub(%n, 1)) ret %r }
fn @f(%x: f64) -> f64 { b0: %y = call @odd(%x, 5) %z = call @leaf(%y) ret %z })");
  const double expected = Scalar(RunOk(m, {Tensor::F64(0.75)})[0]);
  REQUIRE(opt::InlineCalls(m).ok());
  REQUIRE(ir::Verify(m).ok());
  CHECK(Scalar(RunOk(m, {Tensor::F64(0.75)})[0]) == expected);
  CHECK(m.functions.size() == 3);
}

// Nothing is left without a way to it: the text of the callee would cut off what follows the call.
TEST_CASE("inlining: a function that never returns stays one") {
  ir::Module m = ParseIr(R"(entry @f
fn @never(%x: f64) -> f64 { b0: jump b1 b1: jump b1 }
fn @f(%x: f64) -> f64 { b0: %y = call @never(%x) ret mul(%y, %x) })");
  REQUIRE(opt::InlineCalls(m).ok());
  CHECK(ir::Verify(m).ok());
  CHECK(m.functions.size() == 2);
}

}  // namespace
}  // namespace pullback::testing
