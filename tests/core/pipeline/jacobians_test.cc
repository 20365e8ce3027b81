// Jacobians and Hessians by seeding with [k = i]: tests/filetests/jacobians/*.pull, program text in, final
// IR out; by the parameter x.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/ir/filetest.h"
#include "tests/support/derivatives.h"
#include "tests/support/pass_files.h"

namespace pullback::pipeline {
namespace {

ir::Module Matrix(const std::string& program, Transform transform, bool optimise) {
  const ir::Module lowered = testing::LowerText(program, "f");
  const ir::Function& f = lowered.Get(lowered.entry);
  std::vector<bool> wrt;
  for (ir::Value v : f.params()) wrt.push_back(f.values[v.id].name == "x");
  Options options;
  options.optimise = optimise;
  StatusOr<Staged> staged = Derive(lowered, transform, wrt, options);
  REQUIRE(staged.ok());
  return std::move(staged->final);
}

void CheckFile(const char* file, Transform transform) {
  const std::string path = std::string("tests/filetests/jacobians/") + file;
  ir::filetest::RunFile(path, [&](const std::string& program) {
    return ir::Print(Matrix(program, transform, true));
  });
  // Not optimised, it is a loop over seeds.
  testing::ForEachRun(path, [&](const auto& c, const std::string& args) {
    testing::CheckSameResults(Matrix(c.before, transform, false), Matrix(c.before, transform, true),
                              args);
  });
}

TEST_CASE("pipeline: Jacobians by seeding") { CheckFile("jacobian.pull", Transform::kJacobian); }
TEST_CASE("pipeline: Hessians by seeding") { CheckFile("hessian.pull", Transform::kHessian); }
TEST_CASE("pipeline: operators by seeding") { CheckFile("operators.pull", Transform::kValue); }

// An array between the blocks would have an axis of seeds: the loop over seeds holds one column at a time.
TEST_CASE("pipeline: a dense chain keeps its loop over seeds") {
  const ir::Module m =
      Matrix("fn f(x: [n]f64, a: [m, n]f64, b: [m, m]f64) -> [m]f64 { return b @ tanh.(a @ x) }",
             Transform::kJacobian, true);
  CHECK(m.Get(m.entry).blocks.size() > 1);
}

}  // namespace
}  // namespace pullback::pipeline
