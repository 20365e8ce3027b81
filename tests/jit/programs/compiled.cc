#include "tests/jit/programs/compiled.h"

#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
std::vector<Tensor> RunCompiled(const ir::Module& final, const std::vector<Tensor>& args,
                                int opt_level) {
  auto loops = loops::LowerToLoops(final);
  INFO(loops.status().ToString());
  REQUIRE(loops.ok());
  INFO(loops::Print(*loops));
  jit::TestKernel kernel(*loops, opt_level);
  std::vector<Tensor> out = kernel.Run(args);
  INFO("trap " << kernel.context.trap_kind << " at !" << kernel.context.trap_loc);
  REQUIRE(out.size() == final.Get(final.entry).results.size());
  return out;
}

void CheckBitwise(const ir::Module& final, const std::vector<Tensor>& args,
                  std::span<const int> levels) {
  INFO(ir::Print(final));
  const std::vector<Tensor> expected = RunOk(final, args);
  for (int level : levels) {
    INFO(jit::TierName(level));
    const std::vector<Tensor> got = RunCompiled(final, args, level);
    REQUIRE(got.size() == expected.size());
    for (size_t k = 0; k < got.size(); ++k) {
      INFO("result " << k);
      CHECK(got[k].shape == expected[k].shape);
      CHECK(got[k].data == expected[k].data);
    }
  }
}

}  // namespace pullback::testing
