// Blocks, loops, branches, calls, traps and stops.
#include <chrono>
#include <thread>

#include "tests/jit/llvm_support.h"

namespace pullback::jit {
namespace {

using ir::Op;
using ir::TrapKind;
using ir::Type;
using loops::FunctionBuilder;
using loops::Module;
using loops::Reg;

const Type kF = Type::F64();
const Type kI = Type::I64();

// fn pow(x, n) { r = 1; while n > 0 { n = n - 1; r = r * x } return r }
Module PowModule() {
  Module module;
  FunctionBuilder f(module, {kF, kI}, {kF});
  const uint32_t head = f.NewBlock(), body = f.NewBlock(), done = f.NewBlock();
  const Reg n = f.Param(head, kI), r = f.Param(head, kF);
  f.SetBlock(0);
  f.Jump(head, {f.param(1), f.F64(1)});
  f.SetBlock(head);
  f.Branch(f.Compare(Op::Gt, n, f.I64(0)), {body, {}}, {done, {}});
  f.SetBlock(body);
  const Reg less = f.Op(Op::Sub, {n, f.I64(1)});
  f.Jump(head, {less, f.Op(Op::Mul, {r, f.param(0)})});
  f.SetBlock(done);
  f.Return({r});
  return module;
}

TEST_CASE("A loop of blocks", "[llvm]") {
  for (const int level : {0, 2}) {
    TestKernel pow(PowModule(), level);
    CHECK(pow.Run({Tensor::F64(2), Tensor::I64(10)})[0].At<double>(0) == 1024);
    CHECK(pow.Run({Tensor::F64(2), Tensor::I64(-1)})[0].At<double>(0) == 1);
    double r = 1;
    for (int i = 0; i < 1000; ++i) r *= 1.0001;
    CHECK(pow.Run({Tensor::F64(1.0001), Tensor::I64(1000)})[0].At<double>(0) == r);
  }
}

}  // namespace
}  // namespace pullback::jit
