// What is the same in every turn of a loop is made in front of it before derivatives are taken: once, and so is its reverse.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/ir/block_loops.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

constexpr const char* kSinkhorn =
    "fn f(x: [n, d]f64, y: [m, d]f64, q0: [m]f64, turns: i64) -> f64 {\n"
    "  var q = q0\n  for t < turns {\n"
    "    let p = gen i < n { log(sum j < m { exp(q[j] - norm2(x[i] - y[j])) }) }\n"
    "    q = gen j < m { p[j % n] - q[j] }\n  }\n  return sum(q) }\n";

// Statements over three indices in turns of loops.
int CountInTurns(const ir::Module& m) {
  int count = 0;
  const ir::Function& f = m.Get(m.entry);
  const auto loops = ir::LoopsAround(f, ir::Dominators(f));
  for (size_t b = 0; b < f.blocks.size(); ++b) {
    for (const ir::Inst& inst : f.blocks[b].insts)
      count += !loops[b].empty() && inst.each && inst.each->indices.size() == 3;
  }
  return count;
}

}  // namespace

TEST_CASE("moved invariants: the turns of neither loop make what is in front of them") {
  const ir::Module ssa = LowerText(kSinkhorn, "f");
  const ir::Module optimised = Derived(ssa, Transform::kValueAndGrad);
  const ir::Module plain = Derived(ssa, Transform::kValueAndGrad, {}, false);
  CHECK(CountInTurns(optimised) == 0);
  CHECK(CountInTurns(plain) > 0);
  Tensor q0 = Waves(4, 1, 2.5);
  q0.shape = {4};
  for (int64_t turns : {0, 1, 5}) {
    CheckSameOptimised(ssa, Transform::kValueAndGrad,
                       {Waves(3, 2, 0.5), Waves(4, 2, 1.5), q0, Tensor::I64(turns)});
  }
}

}  // namespace pullback::testing
