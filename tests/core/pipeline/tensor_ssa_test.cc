// Tensor SSA of random programs and of ATL's examples: every pass keeps values and cost, and theorem 6.35.
// PULLBACK_PROGRAMS sets how many programs.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "core/ir/printer.h"
#include "core/pipeline/proof.h"
#include "tests/support/atl_generator.h"
#include "tests/support/atl_programs.h"
#include "tests/support/derivatives.h"
#include "tests/support/generator.h"

namespace pullback::pipeline {
namespace {

using testing::GeneratedProgram;

uint32_t ProgramCount(uint32_t otherwise) {
  const char* text = std::getenv("PULLBACK_PROGRAMS");
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

struct Measured {
  std::vector<Tensor> values;
  int64_t ops = 0;
};

Measured Measure(const ir::Module& m, const std::vector<Tensor>& args) {
  eval::Limits limits;
  limits.call_cost = 1;  // a scalar function and its derivative are black boxes
  auto r = eval::Run(m, args, limits);
  INFO(ir::Print(m));
  INFO(r.status().ToString());
  REQUIRE(r.ok());
  REQUIRE_FALSE(r->trap);
  return {std::move(r->values), r->cost.ops};
}

int64_t CountElements(const std::vector<Tensor>& tensors) {
  int64_t count = 0;
  for (const Tensor& t : tensors) count += t.ElementCount();
  return count;
}

// Bit for bit, up to the sign of zero: no pass changes the order of anything that is added.
void CheckEqual(const Tensor& x, const Tensor& y) {
  REQUIRE(x.shape == y.shape);
  REQUIRE(x.dtype == DType::kF64);
  for (int64_t i = 0; i < x.ElementCount(); ++i) CHECK(x.At<double>(i) == y.At<double>(i));
}

// The passes from lift_lets on, each against the one before; how often one had something to do.
ir::Module CheckPasses(const ir::Module& ssa, const std::vector<Tensor>& args,
                       testing::Coverage& changed) {
  std::string text;
  Measured before;
  const auto check = [&](const std::string& pass, const ir::Module& m) {
    INFO(pass << "\n" << text);
    const Measured after = Measure(m, args);
    const bool compare = pass != "thread_boxes" && pass != "simplify" && pass != "inline";
    if (compare) {
      REQUIRE(after.values.size() == before.values.size());
      for (size_t k = 0; k < after.values.size(); ++k)
        CheckEqual(after.values[k], before.values[k]);
      CHECK(after.ops <= before.ops);
    }
    const std::string now = ir::Print(m);
    if (compare && now != text) ++changed[pass];
    if (after.ops != before.ops && compare) ++changed[pass + ": cheaper"];
    text = now;
    before = after;
  };
  auto normal = NormaliseForProof(ssa, check);
  INFO(normal.status().ToString() << "\n" << text);
  REQUIRE(normal.ok());
  return std::move(normal).value();
}

// The transpose of every statement gives what the pipeline's vjp gives.
void CheckSameDerivatives(const ir::Module& ssa, const ir::Module& adjoint,
                          const std::vector<Tensor>& seeded, const std::vector<bool>& wrt) {
  const std::vector<Tensor> ours = testing::RunOk(adjoint, seeded);
  const std::vector<Tensor> theirs =
      testing::RunOk(testing::Derived(ssa, Transform::kVjp, wrt), seeded);
  REQUIRE(ours.size() == theirs.size());
  for (size_t k = 0; k < ours.size(); ++k) {
    REQUIRE(ours[k].shape == theirs[k].shape);
    for (int64_t i = 0; i < ours[k].ElementCount(); ++i)
      CHECK(ours[k].At<double>(i) == Approx(theirs[k].At<double>(i)).epsilon(1e-9).margin(1e-9));
  }
}

// Theorem 6.1: $De <= 4 $e. Its black boxes give one number each; where one gives two, its derivative here is a
// call for all partials and a product for each, more than 4. How much of the 4 it takes.
double CheckForward(const ir::Module& normal, const std::vector<Tensor>& args,
                    const std::vector<bool>& wrt) {
  auto tangent = TangentForProof(normal, wrt);
  INFO(tangent.status().ToString());
  REQUIRE(tangent.ok());
  std::vector<Tensor> seeded = args;
  for (size_t k = 0; k < args.size(); ++k) {
    if (wrt[k] && args[k].dtype == DType::kF64) seeded.push_back(args[k]);
  }
  const int64_t primal = Measure(normal, args).ops, ops = Measure(*tangent, seeded).ops;
  INFO(ir::Print(normal) << "\n" << ir::Print(*tangent));
  CHECK(ops <= 4 * primal);
  return static_cast<double>(ops) / static_cast<double>(std::max<int64_t>(primal, 1));
}

// Theorem 6.35, of the value and all cotangents; how much of the 4 they take.
double CheckTheorem(const ir::Module& ssa, const ir::Module& normal,
                    const std::vector<Tensor>& args, const std::vector<bool>& wrt) {
  auto adjoint = AdjointForProof(normal, wrt);
  INFO(adjoint.status().ToString());
  REQUIRE(adjoint.ok());
  const Measured primal = Measure(normal, args);
  const int64_t bound = 4 * (primal.ops + CountElements(args) + CountElements(primal.values));
  std::vector<Tensor> seeded = args;
  for (const Tensor& y : primal.values) seeded.push_back(y);  // as good as any
  const int64_t ops = Measure(*adjoint, seeded).ops;
  INFO(ir::Print(normal) << "\n" << ir::Print(*adjoint));
  CHECK(ops <= bound);
  CheckSameDerivatives(ssa, *adjoint, seeded, wrt);
  return 4.0 * static_cast<double>(ops) / static_cast<double>(bound);
}

using Generator = std::function<GeneratedProgram(uint32_t seed, testing::Coverage*)>;

void CheckPrograms(const Generator& generate, uint32_t count) {
  testing::Coverage coverage, changed;
  double worst = 0, forward = 0;
  const char* first = std::getenv("PULLBACK_FIRST");
  for (uint32_t seed = first ? static_cast<uint32_t>(std::atoi(first)) : 0; seed < count; ++seed) {
    const GeneratedProgram p = generate(seed, &coverage);
    INFO("seed " << seed << "\n" << p.text);
    const ir::Module ssa = testing::LowerText(p.text, p.entry);
    const ir::Module normal = CheckPasses(ssa, p.args, changed);
    const std::vector<bool> all(p.args.size(), true);
    worst = std::max(worst, CheckTheorem(ssa, normal, p.args, all));
    const bool pairs = testing::CountText(p.text, "both") > 1;  // the definition is one
    if (!pairs) forward = std::max(forward, CheckForward(normal, p.args, all));
    if (seed % 8 == 0) testing::CheckDerivatives(ssa, p.args, 1e-4);
  }
  std::cout << count << " programs, worst ratios of 4: adjoint " << worst << ", tangent " << forward
            << "; programs that a pass changed:\n"
            << testing::ToString(changed) << testing::ToString(coverage);
  for (const char* pass : {"lift_lets", "push_out_gens", "tensor_ssa", "canonical"})
    CHECK(changed[pass] > 0);
}

TEST_CASE("Tensor SSA of random programs: values, cost, and the theorem") {
  CheckPrograms(testing::GenerateAtlProgram, ProgramCount(400));
}

TEST_CASE("Tensor SSA of random flat programs: values, cost, and the theorem") {
  CheckPrograms(
      [](uint32_t seed, testing::Coverage* c) {
        return GenerateProgram(testing::Kind::kTensor, seed, c);
      },
      ProgramCount(400));
}

TEST_CASE("Tensor SSA: structs and pairs go in and come out as their parts; lists do not go in") {
  const ir::Module ssa = testing::LowerText(
      "struct Cloud { at: [n, 3]f64, weight: [n]f64 }\n"
      "fn both(x: f64, y: f64) -> (f64, f64) { return (x * y, x + y) }\n"
      "fn f(c: Cloud, p: (f64, [n]f64)) -> ((f64, [n]f64), Cloud) {\n"
      "  let (u, v) = both.(c.weight, p.1)\n"
      "  return ((p.0 * sum i < n { u[i] }, v), Cloud(c.at, u)) }",
      "f");
  const auto normal = NormaliseForProof(ssa);
  REQUIRE(normal.ok());
  const ir::Function& f = normal->Get(normal->entry);
  std::string types;
  for (ir::Value v : f.params()) types += ToString(f.TypeOf(v)) + " ";
  CHECK(types == "[*,*]f64 [*]f64 f64 [*]f64 ");
  types.clear();
  for (const ir::Type& t : f.results) types += ToString(t) + " ";
  CHECK(types == "f64 [*]f64 [*,*]f64 [*]f64 ");

  const ir::Module lists = testing::LowerText(
      "fn f(l: list f64, n: i64) -> [n]f64 { let k = l[0]\n return gen i < n { k * f64(i) } }",
      "f");
  const auto none = NormaliseForProof(lists);
  REQUIRE_FALSE(none.ok());
  CHECK(none.status().reason() == "UNIMPLEMENTED");
}

// Blocks with jumps between them, other reductions, choices: what is around the algebra.
TEST_CASE("Tensor SSA of random programs with control flow: values and cost") {
  testing::Coverage coverage, changed;
  for (const testing::Kind kind : {testing::Kind::kControlFlow, testing::Kind::kCorners}) {
    for (uint32_t seed = 0; seed < ProgramCount(100); ++seed) {
      const GeneratedProgram p = GenerateProgram(kind, seed, &coverage);
      INFO("seed " << seed << "\n" << p.text);
      CheckPasses(testing::LowerText(p.text, p.entry), p.args, changed);
    }
  }
  std::cout << "with control flow:\n" << testing::ToString(changed);
}

TEST_CASE("Tensor SSA of the examples of ATL: values, cost, and the theorem") {
  testing::Coverage changed;
  for (const testing::AtlProgram& p : testing::AtlPrograms()) {
    INFO(p.name);
    const ir::Module ssa = testing::LowerText(p.text, "f");
    const std::vector<Tensor> args = p.arguments(12);
    const ir::Module normal = CheckPasses(ssa, args, changed);
    std::cout << p.name << ": adjoint " << CheckTheorem(ssa, normal, args, p.wrt) << ", tangent "
              << CheckForward(normal, args, p.wrt) << " of 4\n";
    testing::CheckDerivatives(ssa, p.arguments(5), 1e-4, p.wrt);
  }
}

}  // namespace
}  // namespace pullback::pipeline
