// Random programs: compiled code against the interpreter bit for bit, forward mode against reverse
// mode and differences, and the cost of the adjoint. PULLBACK_PROGRAMS sets how many of each kind.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>

#include "core/opt/simplify.h"
#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/generator.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

uint32_t ProgramCount(uint32_t otherwise) {
  const char* text = std::getenv("PULLBACK_PROGRAMS");
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

std::vector<Tensor> WithTangents(const std::vector<Tensor>& args) {
  std::vector<Tensor> out = args;
  for (const Tensor& t : args) {
    if (t.dtype == DType::kF64) out.push_back(t);
  }
  return out;
}

void CheckCompiled(const ir::Module& ssa, const std::vector<Tensor>& args) {
  CheckBitwise(Derived(ssa, Transform::kValue), args);
  CheckBitwise(Derived(ssa, Transform::kValueAndGrad), args);
  CheckBitwise(Derived(ssa, Transform::kJvp), WithTangents(args));
}

TEST_CASE("generated programs with control flow") {
  Coverage coverage;
  for (uint32_t seed = 0; seed < ProgramCount(60); ++seed) {
    const GeneratedProgram p = GenerateProgram(Kind::kControlFlow, seed, &coverage);
    INFO("seed " << seed << "\n" << p.text);
    const ir::Module ssa = LowerText(p.text, p.entry);
    CheckDerivatives(ssa, p.args, 1e-4);
    CheckCompiled(ssa, p.args);
  }
  std::cout << "control flow:\n" << ToString(coverage);
}

TEST_CASE("generated programs with kinks") {
  Coverage coverage;
  for (uint32_t seed = 0; seed < ProgramCount(40); ++seed) {
    const GeneratedProgram p = GenerateProgram(Kind::kCorners, seed, &coverage);
    INFO("seed " << seed << "\n" << p.text);
    CheckCompiled(LowerText(p.text, p.entry), p.args);
  }
  std::cout << "kinks:\n" << ToString(coverage);
}

int64_t Ops(const ir::Module& m, const std::vector<Tensor>& args) {
  eval::Limits limits;
  limits.call_cost = 1;  // a scalar function and its derivative are black boxes
  auto r = eval::Run(m, args, limits);
  REQUIRE(r.ok());
  return r->cost.ops;
}

// As long as called functions are still black boxes.
ir::Module BeforeInlining(const ir::Module& ssa, Transform transform) {
  ir::Module last;
  const pipeline::Observer keep = [&](const std::string& pass, const ir::Module& m) {
    if (pass == "lower_strong_multiplies") last = m.Clone();
  };
  const std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
  const auto staged = pipeline::Derive(ssa, transform, wrt, {}, nullptr, keep);
  REQUIRE(staged.ok());
  REQUIRE(opt::Simplify(last).ok());
  return last;
}

int64_t Elements(const std::vector<Tensor>& tensors) {
  int64_t count = 0;
  for (const Tensor& t : tensors) count += t.ElementCount();
  return count;
}

TEST_CASE("generated tensor programs") {
  Coverage coverage;
  for (uint32_t seed = 0; seed < ProgramCount(30); ++seed) {
    const GeneratedProgram p = GenerateProgram(Kind::kTensor, seed, &coverage);
    INFO("seed " << seed << "\n" << p.text);
    const ir::Module ssa = LowerText(p.text, p.entry);
    CheckDerivatives(ssa, p.args, 1e-4);
    CheckCompiled(ssa, p.args);
  }
  std::cout << "tensor programs:\n" << ToString(coverage);
}

// Bernstein et al., theorem 6.35.
TEST_CASE("generated tensor programs: the adjoint costs at most four times the program") {
  Coverage coverage;
  double worst = 0;
  const uint32_t count = ProgramCount(10000);
  for (uint32_t seed = 0; seed < count; ++seed) {
    const GeneratedProgram p = GenerateProgram(Kind::kTensor, seed, &coverage);
    INFO("seed " << seed << "\n" << p.text);
    const ir::Module ssa = LowerText(p.text, p.entry);
    const int64_t primal = Ops(BeforeInlining(ssa, Transform::kValue), p.args);
    const int64_t bound = 4 * (primal + Elements(p.args) + 1);
    const int64_t adjoint = Ops(BeforeInlining(ssa, Transform::kValueAndGrad), p.args);
    worst = std::max(worst, 4.0 * static_cast<double>(adjoint) / static_cast<double>(bound));
    CHECK(adjoint <= bound);
  }
  std::cout << count << " tensor programs, worst ratio " << worst << " of 4:\n"
            << ToString(coverage);
}

}  // namespace
}  // namespace pullback::testing
