// Lists in native code: the same results and traps as the interpreter, everything given back.
#include "core/ir/parser.h"
#include "core/ir/verifier.h"
#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"

namespace pullback::jit {
namespace {

loops::Module Loops(const std::string& text) {
  auto m = ir::ParseModule(text);
  REQUIRE(m.ok());
  REQUIRE(ir::Verify(*m).ok());
  auto loops = loops::LowerToLoops(*m);
  INFO(loops.status().ToString());
  REQUIRE(loops.ok());
  return std::move(loops).value();
}

constexpr char kProgram[] = R"(
record R { k: i64, a: [*]f64, x: f32, l: list<R>, p: bool }
fn @f(%x: [*]f64, %n: i64, %at: i64) -> (f64, i64, [*]f64) {
b0:
  %none = list_new : list<R>
  jump b1(%none, 0)
b1(%l: list<R>, %i: i64):
  br lt(%i, %n), b2, b3
b2:
  %p = list_push %l, %i, %x, 1.25f, %none, true
  %t, %k, %a, %h, %in, %yes = list_take %p, %i
  %b = update %a[0], 2.5
  %in1 = list_push %in, %k, %b, %h, %l, %yes
  %s = list_set %t, %i, %k, %b, 2.5f, %in1, false
  jump b1(%s, add(%i, 1))
b3:
  %gk, %ga, %gx, %gl, %gp = list_get %l, %at !9
  %same = list_of 3, %gk, %ga, %gx, %gl, %gp : list<R>
  %more = list_push %same, %gk, %ga, %gx, %none, true
  %q, %qk, %qa, %qx, %ql, %qp = list_take %more, 1
  %zk, %za, %zx, %zl, %zp = list_get %q, 1
  %z0 = dim %za, 0
  %fit = fit %za, 4
  %zn = list_len %zl
  %ln = list_len %l
  %o, %ok, %oa, %ox, %ol, %op = list_pop %q
  %v = index %oa[0]
  %w = index %qa[1]
  %c = select %op, add(%v, %w), 0.0
  %y = cast %qx : f64
  ret add(%c, %y), add(add(%ln, %zn), add(%z0, %qk)), %fit
}
)";

TEST_CASE("LLVM: lists agree with the interpreter") {
  const loops::Module loops = Loops(kProgram);
  const Tensor x = Tensor::Of<double>(DType::kF64, {2}, {1, 3});
  for (const int level : {kTierZero, 0, 2}) {
    TestKernel kernel(loops, level);
    for (const int64_t n : {1, 7, 100}) {
      const std::vector<Tensor> args = {x, Tensor::I64(n), Tensor::I64(n / 2)};
      const auto want = loops::Interpret(loops, args, {eval::EvalScalar, eval::EvalCast});
      INFO(want.status().ToString());
      REQUIRE(want.ok());
      const std::vector<Tensor> got = kernel.Run(args);
      REQUIRE(got.size() == 3);
      for (size_t i = 0; i < 3; ++i) {
        CHECK(got[i].data == want->values[i].data);
        CHECK(got[i].shape == want->values[i].shape);
      }
      CHECK(got[1].At<int64_t>(0) == n + n / 2);
    }
    CHECK(kernel.Trapped({x, Tensor::I64(3), Tensor::I64(3)}, ir::TrapKind::kIndex));
    CHECK(kernel.context.trap_loc == 9);
    kernel.context.bytes_budget = 20000;
    CHECK(kernel.Trapped({x, Tensor::I64(1000), Tensor::I64(3)}, ir::TrapKind::kMemory));
  }
}

// A list within a list, a million times, given up while the run goes on: no native recursion, and
// the memory is there for what follows.
TEST_CASE("LLVM: deep lists are released iteratively") {
  TestKernel kernel(Loops(R"(
record R { l: list<R> }
fn @f(%n: i64) -> (i64) {
b0:
  %e = list_new : list<R>
  jump b1(%e, 0)
b1(%l: list<R>, %i: i64):
  br lt(%i, %n), b2, b3
b2:
  %m = list_new : list<R>
  %p = list_push %m, %l
  jump b1(%p, add(%i, 1))
b3:
  %k = list_len %l
  ret %k
}
)"));
  const std::vector<Tensor> got = kernel.Run({Tensor::I64(1000000)});
  REQUIRE(got.size() == 1);
  CHECK(got[0].At<int64_t>(0) == 1);
  CHECK(kernel.live_bytes == 0);
}

TEST_CASE("LLVM: pushes are amortised") {
  TestKernel kernel(Loops(R"(
record R { x: f64 }
fn @f(%n: i64) -> (f64) {
b0:
  %e = list_new : list<R>
  jump b1(%e, 0)
b1(%l: list<R>, %i: i64):
  br lt(%i, %n), b2, b3
b2:
  %x = cast %i : f64
  %p = list_push %l, %x
  jump b1(%p, add(%i, 1))
b3:
  %y = list_get %l, sub(%n, 1)
  ret %y
}
)"));
  const std::vector<Tensor> got = kernel.Run({Tensor::I64(3000000)});
  REQUIRE(got.size() == 1);
  CHECK(got[0].At<double>(0) == 2999999);
  CHECK(kernel.live_bytes == 0);
  CHECK(kernel.context.peak_bytes < int64_t{3} * 8 * 4194304);
}

}  // namespace
}  // namespace pullback::jit
