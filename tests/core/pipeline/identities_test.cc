// Identities of matrix calculus that fall out of rewriting (dF~, sections 5 and 7):
// tests/filetests/identities/*.pull, program text in, final IR out.
#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/ir/filetest.h"
#include "tests/support/derivatives.h"
#include "tests/support/pass_files.h"

namespace pullback::pipeline {
namespace {

constexpr char kFolder[] = "tests/filetests/identities";

ir::Module Final(const std::string& program, bool optimise) {
  const ir::Module lowered = testing::LowerText(program, "f");
  const std::vector<bool> wrt(lowered.Get(lowered.entry).params().size(), false);
  Options options;
  options.optimise = optimise;
  StatusOr<Staged> staged = Derive(lowered, Transform::kValue, wrt, options);
  REQUIRE(staged.ok());
  return std::move(staged->final);
}

TEST_CASE("pipeline: identities by rewriting") {
  ir::filetest::RunFolder(
      kFolder, ".pull", [](const std::string& program) { return ir::Print(Final(program, true)); });
}

TEST_CASE("pipeline: identities keep their values") {
  for (const char* file : {"matrices.pull", "nnmf.pull"}) {
    testing::ForEachRun(
        std::string(kFolder) + "/" + file, [](const auto& c, const std::string& args) {
          testing::CheckSameResults(Final(c.before, false), Final(c.before, true), args);
        });
  }
}

}  // namespace
}  // namespace pullback::pipeline
