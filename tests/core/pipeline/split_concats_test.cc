// Arrays behind each other that are not put together: the same as unoptimised, derivatives, too.
#include <catch2/catch.hpp>

#include <set>

#include "core/ir/ir.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// Whether some statement reads a row of either of two matrices that are made.
bool ReadsEither(const ir::Module& m) {
  const ir::Function& f = m.Get(m.entry);
  std::set<ir::Value> made, elements;
  for (const ir::Inst& inst : f.blocks[0].insts) {
    if (!inst.each) continue;
    for (const ir::Inst& read : inst.each->body) {
      if (read.op == ir::Op::Index && read.subs.size() == 2 && made.contains(read.args[0]))
        elements.insert(read.results[0]);
      if (read.op == ir::Op::Select && elements.contains(read.args[1]) &&
          elements.contains(read.args[2]))
        return true;
    }
    made.insert(inst.results.begin(), inst.results.end());
  }
  return false;
}

Tensor FourNumbers() {
  return Tensor::Of(DType::kF64, {4}, std::vector<double>{0.5, -0.3, 0.8, 0.2});
}

}  // namespace

TEST_CASE("split concats: layers, columns, sums, parts of parts; keys of all stay") {
  struct Case {
    const char* rows;
    const char* body;
    bool together;
  };
  const char *two = "concat(x @ w, y @ w)", *three = "concat(concat(x, y) @ w, y @ w)";
  for (const Case& c : {
           Case{two, "  return sum(tanh.(z) @ v)\n", false},
           Case{two, "  return norm2(tanh.(z) @ v - 0.5)\n", false},
           Case{two, "  return sum i < n + m { f64(i) * logsumexp(z[i]) }\n", false},
           Case{two, "  return logsumexp(tanh.(z) @ v)\n", false},
           Case{two, "  return sum j < 4 { (sum i < n + m { exp(z[i, j]) }) ** 2 }\n", false},
           Case{two, "  return sum i < n + m { [i > 1] * norm(z[i] + 0.3) }\n", false},
           Case{two, "  return sum(tanh.(tanh.(z) @ transpose(w)))\n", false},
           Case{two, "  return sum i < n + m { logsumexp(z @ z[i]) }\n", true},
           Case{two, "  return max i < n + m { dot(z[i], v) }\n", false},
           Case{three, "  return sum i < n + m + m { norm(z[i] + 0.3) }\n", false},
       }) {
    const std::string text =
        "fn f(x: [n, d]f64, y: [m, d]f64, w: [d, 4]f64, v: [4]f64) -> f64 {\n  let z = " +
        std::string(c.rows) + "\n" + c.body + "}\n";
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    CHECK(ReadsEither(Derived(ssa, Transform::kValue)) == c.together);
    for (const auto& [n, m] :
         {std::pair(6, 3), std::pair(3, 6), std::pair(1, 1), std::pair(0, 2)}) {
      const std::vector<Tensor> args = {Waves(n, 2, 0.5), Waves(m, 2, 0.7), Waves(2, 4, 1.5),
                                        FourNumbers()};
      CheckSameOptimised(ssa, Transform::kValue, args);
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    }
    CheckDerivatives(ssa, {Waves(3, 2, 0.5), Waves(2, 2, 0.7), Waves(2, 4, 1.5), FourNumbers()});
    CheckSameOptimised(ssa, Transform::kHessian,
                       {Waves(2, 1, 0.5), Waves(1, 1, 0.7), Waves(1, 4, 1.5), FourNumbers()});
  }
}

}  // namespace pullback::testing
