// The passes that make Tensor SSA: tests/filetests/<pass>/*.ir, and what is not in a form.
#include "core/tensor/tensor_ssa.h"

#include <catch2/catch.hpp>

#include "tests/support/pass_files.h"

namespace pullback::tensor {
namespace {

// The pass over every function; what it makes is in the form.
ir::filetest::Pass Into(NormalForm form, void (*pass)(ir::Function&)) {
  return [form, pass](ir::Module& m) {
    for (auto& f : m.functions) pass(*f);
    return VerifyNormalForm(m, form);
  };
}

void Canonicalise(ir::Function& f) {
  NameCanonically(f);
  EliminateCommonStatements(f);
  NameCanonically(f);
}

TEST_CASE("tensor SSA: LiftLets") {
  testing::RunPassFiles("lift_lets", Into(NormalForm::kLetsLifted, LiftLets));
}

TEST_CASE("tensor SSA: EliminatePairs") {
  testing::RunPassFiles("eliminate_pairs", Into(NormalForm::kPairsEliminated, EliminatePairs));
}

TEST_CASE("tensor SSA: PushOutGens") {
  testing::RunPassFiles("push_out_gens", Into(NormalForm::kGensPushedOut, PushOutGens));
}

TEST_CASE("tensor SSA: ToTensorSsa") {
  testing::RunPassFiles("tensor_ssa", Into(NormalForm::kTensorSsa, ToTensorSsa));
}

TEST_CASE("tensor SSA: RemoveCopies") {
  testing::RunPassFiles("remove_copies", testing::OverFunctions(RemoveCopies));
}

TEST_CASE("tensor SSA: NameCanonically and EliminateCommonStatements") {
  testing::RunPassFiles("canonical_statements", Into(NormalForm::kCanonical, Canonicalise));
}

// Each text is in the form before, if that is a step of its own, and not in this one.
void CheckNotNormal(const std::string& file, NormalForm form) {
  ir::filetest::RunFile("tests/filetests/not_normal/" + file, [&](const std::string& text) {
    return ir::filetest::RunPass(text, [&](ir::Module& m) {
      if (form > NormalForm::kLetsLifted) {
        const auto weaker = static_cast<NormalForm>(static_cast<int>(form) - 1);
        const Status before = VerifyNormalForm(m, weaker);
        INFO(before.ToString());
        CHECK(before.ok());
      }
      const Status status = VerifyNormalForm(m, form);
      CHECK_FALSE(status.ok());
      return status;
    });
  });
}

TEST_CASE("tensor SSA: what is not in a normal form is found") {
  CheckNotNormal("lets_lifted.ir", NormalForm::kLetsLifted);
  CheckNotNormal("pairs_eliminated.ir", NormalForm::kPairsEliminated);
  CheckNotNormal("gens_pushed_out.ir", NormalForm::kGensPushedOut);
  CheckNotNormal("tensor_ssa.ir", NormalForm::kTensorSsa);
  CheckNotNormal("canonical.ir", NormalForm::kCanonical);
}

}  // namespace
}  // namespace pullback::tensor
