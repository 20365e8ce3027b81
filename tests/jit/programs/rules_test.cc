// Derivative rules and checkpoints, compiled: the interpreter's bits, and fewer bytes.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/ir/checkpointed_loop.h"
#include "core/ir/verifier.h"
#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"
#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

Tensor Ramp(int64_t n, double from, double step) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(from + step * static_cast<double>(i));
  return Vec(v);
}

TEST_CASE("compiled: derivative rules") {
  // Called from a block, from a body and by themselves; wrong on purpose.
  const std::string text =
      "entry @g\n"
      "fn @g(%a: [*]f64, %c: f64) -> f64 { b0: %n = dim %a, 0\n"
      "%s = each(i < %n) { %x = index %a[%i]  %y = call @f(%x, %c) } sum []: %y\n"
      "%t = call @f(%s, %s)  %u = call checkpoint @f(%t, %c)  ret %u }\n"
      "fn @f(%x: f64, %k: f64) -> f64 RULES { b0: ret sin(mul(%k, %x)) }\n"
      "fn @v(%x: f64, %k: f64, %w: f64) -> (f64, f64) { b0: %y = call @f(%x, %k)\n"
      "  ret mul(%y, %w), mul(3.0, mul(%x, %w)) }\n"
      "fn @j(%x: f64, %k: f64, %dx: f64, %dk: f64) -> (f64, f64) { b0: %y = call @f(%x, %k)\n"
      "  ret %y, add(mul(%y, %dx), mul(7.0, %dk)) }\n";
  const std::vector<Tensor> args = {Ramp(21, -1, 0.11), Tensor::F64(0.8)};
  for (const std::string rules : {"vjp @v jvp @j", "vjp @v", "jvp @j"}) {
    std::string t = text;
    const ir::Module m = ParseIr(t.replace(t.find("RULES"), 5, rules));
    for (bool optimise : {true, false}) {
      INFO(rules << (optimise ? "" : ", as built"));
      CheckBitwise(Derived(m, Transform::kValue, {}, optimise), args);
      CheckBitwise(Derived(m, Transform::kValueAndGrad, {}, optimise), args);
      std::vector<Tensor> with_dots = args;
      with_dots.push_back(Ramp(21, 0.3, -0.02));
      with_dots.push_back(Tensor::F64(0.4));
      CheckBitwise(Derived(m, Transform::kJvp, {}, optimise), with_dots);
    }
  }
}

// The state is an array; one snapshot is its 8 n bytes.
ir::Module Relaxation() {
  ir::Module m = ParseIr(
      "entry @g\n"
      "fn @g(%x: [*]f64, %n: i64, %s: i64) -> f64 { b0: %d = dim %x, 0\n"
      "%y = call @unrolled(%x, 0, %n, %s)\n"
      "%r = each(i < %d) { %u = index %y[%i] } sum []: %u\nret %r }\n"
      "fn @step(%x: [*]f64, %k: i64) -> [*]f64 { b0: %d = dim %x, 0\n"
      "%y = each(i < %d) { %u = index %x[%i]  %v = sin %u  %w = mul %u, %v }\n"
      "  gen [%i] of (%d): %w\nret %y }\n"
      "fn @unrolled(%x: [*]f64, %b: i64, %e: i64, %s: i64) -> [*]f64 { b0: ret %x }\n");
  const uint32_t made = ir::AddCheckpointedLoop(m, 1);
  for (ir::Inst& inst : m.Get(0).blocks[0].insts) {
    if (inst.op == ir::Op::Call) inst.callee = made;
  }
  REQUIRE(ir::Verify(m).ok());
  return m;
}

TEST_CASE("compiled: a loop with snapshots gives the same bits in fewer bytes") {
  const ir::Module m = Derived(Relaxation(), Transform::kValueAndGrad);
  const int64_t n = 1000, steps = 100;
  const Tensor x = Ramp(n, 0.5, 0.001);
  const auto loops = loops::LowerToLoops(m);
  REQUIRE(loops.ok());
  jit::TestKernel kernel(*loops, 2);
  struct Ran {
    std::vector<Tensor> values;
    int64_t bytes;
  };
  const auto run = [&](int64_t snapshots) {
    kernel.context.peak_bytes = 0;
    Ran r;
    r.values = kernel.Run({x, Tensor::I64(steps), Tensor::I64(snapshots)});
    REQUIRE(r.values.size() == 2);
    r.bytes = kernel.context.peak_bytes;
    return r;
  };
  const Ran plain = run(0);
  CHECK(plain.bytes > steps * 8 * n);
  for (int64_t snapshots : {1, 2, 4, 10}) {
    const Ran r = run(snapshots);
    INFO(snapshots << " snapshots: " << r.bytes << " bytes, plain " << plain.bytes);
    CHECK(r.values[0].data == plain.values[0].data);
    CHECK(r.values[1].data == plain.values[1].data);
    // The snapshots, and a few arrays at work.
    CHECK(r.bytes < (snapshots + 10) * 8 * n + 100000);
  }
  for (int64_t snapshots : {0, 1, 3, 8})
    CheckBitwise(m, {Ramp(5, 0.5, 0.1), Tensor::I64(9), Tensor::I64(snapshots)});
}

}  // namespace
}  // namespace pullback::testing
