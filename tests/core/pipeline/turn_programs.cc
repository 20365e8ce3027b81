#include "tests/core/pipeline/turn_programs.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {

using pipeline::Transform;

int CountWhole(const ir::Module& m) {
  const auto is_n = [&](ir::Value v) { return m.Get(m.entry).names[v.id] == "n"; };
  const auto is_block = [&](ir::Value v) { return m.Get(m.entry).names[v.id].empty(); };
  int count = 0;
  for (const ir::Block& b : m.Get(m.entry).blocks) {
    for (const ir::Inst& inst : b.insts) {
      if (!inst.each) continue;
      for (const ir::EachResult& r : inst.each->results)
        count += r.shape.size() > 1 && std::any_of(r.shape.begin(), r.shape.end(), is_n) &&
                 std::none_of(r.shape.begin(), r.shape.end(), is_block);
    }
  }
  return count;
}

std::vector<Tensor> Arguments(int64_t n, int64_t d, int64_t s) {
  Tensor y{DType::kI64, {n}, {}};
  std::vector<int64_t> labels;
  for (int64_t k = 0; k < n; ++k) labels.push_back(k * 7 % (s + 1) - 1);
  return {Waves(n, d, 0.5), Waves(d, s, 1.5), Waves(s, s, 2.5),
          Tensor::Of(DType::kI64, {n}, labels)};
}

void CheckProgram(const std::string& body, std::optional<int> whole,
                  const std::vector<int64_t>& sizes) {
  const std::string text =
      "fn f(x: [n, d]f64, w: [d, s]f64, u: [s, s]f64, y: [n]i64) -> f64 {\n" + body + "}\n";
  INFO(text);
  const ir::Module ssa = LowerText(text, "f");
  const int count = CountWhole(Derived(ssa, Transform::kValue));
  CHECK(count == whole.value_or(count));
  for (int64_t n : sizes) {
    INFO(n);
    const std::vector<Tensor> args = Arguments(n, 2, 3);
    CheckSameOptimised(ssa, Transform::kValue, args);
    CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
  }
  CheckDerivatives(ssa, Arguments(18, 2, 3), 1e-5, {true, true, true, false});
  CheckSameOptimised(ssa, Transform::kHessian, Arguments(17, 1, 2));
}

}  // namespace pullback::testing
