// Jacobians, Hessians and their products of first and generated programs: compiled code gives the
// interpreter's bits, and those agree with differences.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/generator.h"
#include "tests/support/matrices.h"
#include "tests/support/programs.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::vector<Tensor> WithTangents(const std::vector<Tensor>& args) {
  std::vector<Tensor> out = args;
  for (const Tensor& t : args) {
    if (t.dtype == DType::kF64 || t.dtype == DType::kF32) out.push_back(t);
  }
  return out;
}

void CheckCompiled(const ir::Module& ssa, const std::vector<Tensor>& args, bool optimise) {
  CheckBitwise(Derived(ssa, Transform::kJacobian, {}, optimise), args);
  if (!GivesFloatScalar(ssa)) return;
  CheckBitwise(Derived(ssa, Transform::kHessian, {}, optimise), args);
  CheckBitwise(Derived(ssa, Transform::kHvp, {}, optimise), WithTangents(args));
}

TEST_CASE("first programs: compiled Jacobians and Hessians give the interpreter's bits") {
  for (const ProgramCase& c : FirstPrograms()) {
    int64_t elements = 0;
    for (const Tensor& t : c.args) elements += t.ElementCount();
    if (elements > 60) continue;
    SECTION(c.name) {
      INFO(c.name);
      CheckCompiled(LowerText(c.text, c.entry), c.args, true);
    }
  }
}

// Several chunks of seeds, of which the last is shorter: of the Jacobian, since there are many rows; of the
// Hessian, since its tape is kept.
TEST_CASE("compiled Jacobians and Hessians in chunks of seeds") {
  std::vector<double> x;
  for (int i = 0; i < 70; ++i) x.push_back(0.3 + 0.01 * (i % 13));
  const std::string loop =
      "  var s = 0.5\n  for i in 1..n {\n    s = sin(s * x[i]) + y[i - 1]\n"
      "    if i % 3 == 0 { y[i] = s * x[i] + y[i - 1] } else { y[i] += s }\n  }\n";
  CheckCompiled(LowerText("fn f(x: [n]f64) -> [5000]f64 {\n  var y = gen i < 5000 { 0.0 }\n" +
                              loop + "  return y }",
                          "f"),
                {Vec(x)}, true);
  const std::vector<double> few(x.begin(), x.begin() + 37);
  CheckCompiled(
      LowerText("fn f(x: [n]f64) -> f64 {\n  var y = x\n" + loop + "  return y[n - 1] * s }", "f"),
      {Vec(few)}, true);
}

uint32_t ProgramCount(uint32_t otherwise) {
  const char* text = std::getenv("PULLBACK_PROGRAMS");
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

TEST_CASE("generated programs: Jacobians and Hessians against differences, and compiled") {
  Coverage coverage;
  for (Kind kind : {Kind::kControlFlow, Kind::kTensor}) {
    for (uint32_t seed = 0; seed < ProgramCount(6); ++seed) {
      const GeneratedProgram p = GenerateProgram(kind, 5000 + seed, &coverage);
      INFO("seed " << 5000 + seed << "\n" << p.text);
      const ir::Module ssa = LowerText(p.text, p.entry);
      CheckJacobian(ssa, p.args, true, 1e-4);
      if (GivesFloatScalar(ssa)) CheckHessian(ssa, p.args, true, 1e-3);
      CheckCompiled(ssa, p.args, seed % 2 == 0);
    }
  }
}

}  // namespace
}  // namespace pullback::testing
