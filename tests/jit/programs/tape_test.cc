// What the tape holds, in the text of the adjoint and counted while it runs; what is left of a derivative
// that is a constant; sin and cos of one argument.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"
#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/looped_softmax.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// Bytes a turn on the tape of f(x, n), by the interpreter's count and by the kernel's memory. A vjp is reverse
// mode; a gradient by one scalar may be forward mode.
struct PerTurn {
  double counted, held;
};
PerTurn TapeOf(const std::string& program, Transform transform) {
  const ir::Module final = Derived(LowerText(program, "f"), transform, {true, false});
  constexpr int64_t kTurns = 100000;
  std::vector<Tensor> args = {Tensor::F64(0.9999), Tensor::I64(kTurns)};
  if (transform == Transform::kVjp) args.push_back(Tensor::F64(1));
  const auto interpreted = eval::Run(final, args);
  REQUIRE(interpreted.ok());
  const auto loops = loops::LowerToLoops(final);
  REQUIRE(loops.ok());
  jit::TestKernel kernel(*loops);
  REQUIRE(kernel.Run(args).size() == 2);
  return {8.0 * static_cast<double>(interpreted->cost.peak_tape) / kTurns,
          static_cast<double>(kernel.context.peak_bytes) / kTurns};
}

const char* const kPow =
    "fn f(x: f64, n: i64) -> f64 {\n  var r = 1.0\n  var k = n\n"
    "  while k > 0 { k = k - 1\n r = r * x }\n  return r\n}\n";
const char* const kLinear =
    "fn f(x: f64, n: i64) -> f64 {\n  var r = x\n"
    "  for i < n { r = r * 0.5 + 3.0 }\n  return r\n}\n";

TEST_CASE("tape: pow keeps 8 bytes a turn") {
  for (const Transform t : {Transform::kVjp, Transform::kValueAndGrad}) {
    CHECK(CountText(AdjointText(kPow, {true, false}, t), "= push ") == 1);
    const PerTurn tape = TapeOf(kPow, t);
    CHECK(tape.counted == 8);
    CHECK(tape.held < 8 * 2 * 1.5);  // blocks double: the old one and the new one at once
  }
}

// Three integers that every turn changes; r itself is not needed.
const char* const kIntegers =
    "fn f(x: f64, n: i64) -> f64 {\n  var r = x\n  var c = n\n  var d = n + 1\n"
    "  var up = n > 3\n  for i < n {\n    let s = if up { 0.5 } else { 0.25 }\n"
    "    r = r * (s + 1e-20 * f64(c))\n"
    "    c = c - d\n    d = 3 * d + 1\n    up = not up\n  }\n  return r\n}\n";
// The same, but what the integer was cannot be told from what it becomes.
const char* const kHalved =
    "fn f(x: f64, n: i64) -> f64 {\n  var r = x\n  var c = n\n"
    "  for i < n {\n    r = r * (0.5 + 1e-3 * f64(c))\n    c = c / 2 + i\n  }\n"
    "  return r\n}\n";

TEST_CASE("tape: integers that can be undone are not kept") {
  const PerTurn tape = TapeOf(kIntegers, Transform::kVjp);
  CHECK(CountText(AdjointText(kIntegers, {true, false}, Transform::kVjp), "= push ") == 0);
  CHECK(tape.counted == 0);
  CHECK(tape.held == 0);
  CHECK(TapeOf(kHalved, Transform::kVjp).counted == 8);
}

// In a callee the last values are kept, and the number of turns: once a call, whatever n is.
TEST_CASE("tape: integers of a loop in a recursion cost its call the same for every n") {
  const std::string program =
      "fn g(x: f64, n: i64, k: i64) -> f64 {\n  if k <= 0 { return x }\n  var r = x\n"
      "  var c = n\n  for i < n {\n    r = r * (0.5 + 1e-3 * f64(c))\n"
      "    c = k - c\n  }\n  return g(r, n, k - 1)\n}\n"
      "fn f(x: f64, n: i64) -> f64 { return g(x, n, 3) }\n";
  const auto kept = [&](int64_t n) {
    const auto run = eval::Run(Derived(LowerText(program, "f"), Transform::kVjp, {true, false}),
                               {Tensor::F64(0.9), Tensor::I64(n), Tensor::F64(1)});
    REQUIRE(run.ok());
    return run->cost.peak_tape;
  };
  CHECK(kept(10) > 0);
  CHECK(kept(10) == kept(1000));
}

TEST_CASE("tape: the gradient by one scalar of a loop with a function keeps nothing") {
  const char* const program =
      "fn f(x: f64, n: i64) -> f64 {\n  var r = x\n  for i < n { r = sin(r) * x }\n  return r\n}\n";
  CHECK(CountText(AdjointText(program, {true, false}), "tape") == 0);
  CHECK(CountText(AdjointText(program, {true, false}), "entry @f.forward_grad") == 1);
  CHECK(CountText(AdjointText(program, {true, false}, Transform::kVjp), "= push ") > 0);
  const PerTurn tape = TapeOf(program, Transform::kValueAndGrad);
  CHECK(tape.counted == 0);
  CHECK(tape.held == 0);
}

TEST_CASE("tape: a loop whose pullback needs nothing keeps nothing") {
  for (const Transform t : {Transform::kVjp, Transform::kValueAndGrad}) {
    const std::string adjoint = AdjointText(kLinear, {true, false}, t);
    CHECK(CountText(adjoint, "tape") == 0);
    CHECK(CountText(adjoint, "push") == 0);
    const PerTurn tape = TapeOf(kLinear, t);
    CHECK(tape.counted == 0);
    CHECK(tape.held == 0);
  }
}

std::string Llvm(const std::string& program, const char* stage) {
  const ir::Module final = Derived(LowerText(program, "f"), Transform::kValueAndGrad, {true});
  const auto loops = loops::LowerToLoops(final);
  REQUIRE(loops.ok());
  const auto text = jit::LlvmForTests().Dump(*loops, {2}, stage);
  REQUIRE(text.ok());
  return *text;
}

TEST_CASE("5x + 3 has a derivative that is a constant of the machine code") {
  const std::string llvm = Llvm("fn f(x: f64) -> f64 { return 5.0 * x + 3.0 }", "llvm");
  INFO(llvm);
  // One multiplication and one addition, of the value; x is read once; the derivative is stored as the
  // bits of 5.0.
  CHECK(CountText(llvm, "fmul") == 1);
  CHECK(CountText(llvm, "fadd") == 1);
  CHECK(CountText(llvm, "load double") == 1);
  CHECK(CountText(llvm, "store i64 4617315517961601024") == 1);
  const std::string assembly = Llvm("fn f(x: f64) -> f64 { return 5.0 * x + 3.0 }", "asm");
  INFO(assembly);
  CHECK(CountText(assembly, "mulsd") == 1);
  CHECK(CountText(assembly, "4617315517961601024") >= 1);
}

TEST_CASE("sin and cos of one argument are one call, with the bits of two") {
  const std::string program = "fn f(x: f64) -> f64 { return sin(cos(x)) * sin(x) }";
  const std::string llvm = Llvm(program, "llvm");
  INFO(llvm);
  CHECK(CountText(llvm, "call { double, double } @pb_sincos_f64") == 2);
  CHECK(CountText(llvm, "call double @pb_") == 0);
  for (const char* type : {"f64", "f32"}) {
    const std::string text =
        std::string("fn f(x: ") + type + ") -> " + type + " { return sin(cos(x)) * sin(x) }";
    const ir::Module final = Derived(LowerText(text, "f"), Transform::kValueAndGrad);
    const bool f64 = final.Get(final.entry).results[0].elem == DType::kF64;
    for (double x = -40; x < 40; x += 3.7) {
      CheckBitwise(final, {f64 ? Tensor::F64(x)
                               : Tensor::Of<float>(DType::kF32, {}, {static_cast<float>(x)})});
    }
  }
}

// A loop whose turns have loops of their own and only add: of 2 * 1200 * 1200 elements the tape would keep 12 MB, and make
// the others again.
TEST_CASE("tape: turns that would keep much are run again") {
  const auto bytes = [](const std::string& body, size_t n) {
    const ir::Module ssa = LowerText(
        testing::kLoopedSoftmax + ("fn f(x: [n]f64, y: [m]f64) -> f64 { return " + body + " }"),
        "f");
    const auto loops = loops::LowerToLoops(Derived(ssa, Transform::kValueAndGrad));
    REQUIRE(loops.ok());
    const Tensor wave = Vec(std::vector<double>(n, 0.25));
    jit::TestKernel kernel(*loops);
    REQUIRE(kernel.Run({wave, wave}).size() == 3);
    return kernel.context.peak_bytes;
  };
  const std::string row = "dot(looped_softmax(x[i] * y), y)";
  const std::string stored = "sum(sin.(gen i < n { " + row + " }))";
  CHECK(bytes(stored, 1000) > 8 * 1000 * 1000);  // 2^21 elements and fewer are kept
  CHECK(bytes(stored, 1200) < 8 * 100 * 1200);
  // Each turn of one sum is reversed behind itself.
  CHECK(bytes("(sum i < n { " + row + " }) / 3.0", 1000) < 8 * 100 * 1000);
  CHECK(bytes("sqrt(sum i < n { " + row + " })", 1000) < 8 * 100 * 1000);
}

}  // namespace
}  // namespace pullback::testing
