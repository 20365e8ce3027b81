// Random losses of layers, whose rows are made and read turn by turn, some once more: the same optimised and not.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"
#include "tests/support/random_layers.h"
#include "tests/support/settings.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Tensor> LayerArgs(int64_t n, int64_t d, int64_t h) {
  Tensor v = Waves(h, 1, 3.5), u = Waves(3, 1, 6.5), y = Waves(n, 1, 4.5);
  v.shape = {h};
  u.shape = {3};
  y.shape = {n};
  return {Waves(n, d, 0.5), Waves(d, h, 1.5), Waves(h, 2, 2.5), Waves(2, h, 5.5), v, u, y};
}

}  // namespace

TEST_CASE("random layers: values and gradients") {
  const uint32_t first = Setting("PULLBACK_LAYERS_SEED", 1);
  const uint32_t count = Setting("PULLBACK_LAYERS_COUNT", RandomCount(100));
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const std::string text = RandomLayersProgram(seed);
    INFO("seed " << seed << "\n" << text);
    const ir::Module ssa = LowerText(text, "f"), value = Derived(ssa, Transform::kValue);
    const bool by_sets = text.find("sum b <") != text.npos;
    for (const int64_t n : by_sets ? std::vector<int64_t>{0, 1, 39, 40, 67, 83}
                                   : std::vector<int64_t>{0, 1, 2, 3, 7, 18}) {
      INFO("n = " << n);
      const std::vector<Tensor> args = LayerArgs(n, 2, 3);
      if (CheckSameTrap(value, ssa, args)) continue;  // pairs of fewer than no rows
      CheckSameOptimised(ssa, Transform::kValue, args);
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
    }
  }
}

}  // namespace pullback::testing
