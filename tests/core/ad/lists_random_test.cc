// Random programs over lists: the modes agree with each other and with differences, nested too.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"
#include "tests/support/random_list_program.h"

namespace pullback::testing {
namespace {

TEST_CASE("lists: random programs") {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const std::string text = RandomListProgram(seed);
    INFO("seed " << seed << "\n" << text);
    CheckDerivatives(ParseIr(text), {Tensor::F64(0.4), Vec({0.3, -0.6})});
  }
}

TEST_CASE("lists: random programs, derivatives of derivatives") {
  for (uint32_t seed = 100; seed < 112; ++seed) {
    const std::string text = RandomListProgram(seed);
    const size_t first = text.find("fn @f");
    const std::string records = text.substr(0, first), f = text.substr(first);
    for (const std::string inner : {"%y, %b, %dx, %db = jvp @f wrt(0) (%x, %a, 1.0)",
                                    "%y, %b, %dx = vjp @f wrt(0) (%x, %a, 1.0, %a)"}) {
      const std::string d = "fn @d(%x: f64, %a: [*]f64) -> f64 { b0: " + inner + "\n ret %dx }\n";
      INFO("seed " << seed << "\n" << text << d);
      CheckDerivatives(ParseIr(records + "entry @d\n" + f + d),
                       {Tensor::F64(0.4), Vec({0.3, -0.6})});
    }
  }
}

}  // namespace
}  // namespace pullback::testing
