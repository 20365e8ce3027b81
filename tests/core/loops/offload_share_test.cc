// How many kernels a nest becomes: the gradients of arguments that were expanded, each spread over loops of its own.
#include <catch2/catch.hpp>

#include "core/loops/offload.h"
#include "tests/core/loops/testing.h"
#include "tests/support/derivatives.h"
#include "tests/support/device_programs.h"

namespace pullback::loops {
namespace {

using Form = OffloadKernel::Form;

// Each kernel: its form, how many loops are threads or segments, what its threads store, what it joins.
std::string Describe(const OffloadKernel& kernel) {
  const std::string form = kernel.form == Form::kOrdered ? "ordered"
                           : kernel.form == Form::kTiles ? "tiles"
                                                         : "grid";
  return form + "/" + std::to_string(kernel.parallel.size()) + " stores " +
         std::to_string(kernel.keeps.size()) + " joins " + std::to_string(kernel.ordered.size());
}

TEST_CASE(
    "On a device: gradients by expanded arguments share kernels where they compute the same") {
  for (const testing::ExpandedCase& c : testing::ExpandedArguments()) {
    INFO(c.program.name);
    const ir::Module ssa = testing::LowerText(c.program.text, c.program.entry);
    const Module loops =
        LowerToLoops(testing::Derived(ssa, pipeline::Transform::kValue), testing::kForDevices)
            .value();
    INFO(Print(loops));
    const OffloadPlan plan = PlanOffload(loops, *loops.functions[loops.entry]);
    CHECK(plan.refusals.empty());
    std::string kernels;
    for (const auto& [root, nest] : plan.nests) {
      for (const OffloadKernel& k : nest.kernels)
        kernels += (kernels.empty() ? "" : "; ") + Describe(k);
    }
    CHECK(kernels == c.kernels);
  }
}

// Each function calls the one before twenty times: 20^9 ways lead to the first.
TEST_CASE("On a device: functions are weighed once, however many calls lead to them") {
  std::string text = "fn f0(x: f64) -> f64 { if x > 0.5 { return sin(x) } return x }\n";
  for (int k = 1; k < 10; ++k) {
    const std::string call = "f" + std::to_string(k - 1) + "(x * 0.5";
    text += "fn f" + std::to_string(k) + "(x: f64) -> f64 { return " + call + ")";
    for (int j = 1; j < 20; ++j) text += " + " + call + " + " + std::to_string(j) + ".0)";
    text += " }\n";
  }
  text += "fn g(v: [n]f64) -> f64 { return sum i < n { f9(v[i]) } }\n";
  const ir::Module ssa = testing::LowerText(text, "g");
  const Module loops =
      LowerToLoops(testing::Derived(ssa, pipeline::Transform::kValueAndGrad), testing::kForDevices)
          .value();
  const OffloadPlan plan = PlanOffload(loops, *loops.functions[loops.entry]);
  CHECK(plan.nests.size() + plan.refusals.size() > 0);
}

}  // namespace
}  // namespace pullback::loops
