// What is the same in every turn of a loop is made in front of it before derivatives are taken: once, and so is its reverse.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/ir/block_loops.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

constexpr const char* kSinkhorn =
    "fn f(x: [n, d]f64, y: [m, d]f64, q0: [m]f64, turns: i64) -> f64 {\n"
    "  var q = q0\n  for t < turns {\n"
    "    let p = gen i < n { log(sum j < m { exp(q[j] - norm2(x[i] - y[j])) }) }\n"
    "    q = gen j < m { p[j % n] - q[j] }\n  }\n  return sum(q) }\n";

Tensor Matrix(int64_t rows, int64_t columns, double start) {
  std::vector<double> v;
  for (int64_t k = 0; k < rows * columns; ++k)
    v.push_back(0.4 * std::sin(start + 3.0 * static_cast<double>(k)));
  return Tensor::Of(DType::kF64, {rows, columns}, v);
}

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
  Tensor q0 = Matrix(4, 1, 2.5);
  q0.shape = {4};
  for (int64_t turns : {0, 1, 5}) {
    const std::vector<Tensor> args = {Matrix(3, 2, 0.5), Matrix(4, 2, 1.5), q0, Tensor::I64(turns)};
    const std::vector<Tensor> got = RunOk(optimised, args), want = RunOk(plain, args);
    REQUIRE(got.size() == want.size());
    for (size_t k = 0; k < got.size(); ++k) {
      const std::vector<double> a = Doubles(got[k]), b = Doubles(want[k]);
      REQUIRE(a.size() == b.size());
      for (size_t i = 0; i < a.size(); ++i)
        CHECK(a[i] == Approx(b[i]).epsilon(1e-10).margin(1e-12));
    }
  }
}

}  // namespace pullback::testing
