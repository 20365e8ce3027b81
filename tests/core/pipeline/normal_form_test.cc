// The final IR of the whole pipeline: tests/filetests/normal_form/*.ir, values and gradients.
#include <catch2/catch.hpp>

#include "core/pipeline/pipeline.h"
#include "tests/support/pass_files.h"

namespace pullback::pipeline {
namespace {

// A single float scalar gives value_and_grad, anything else vjp.
Status Gradient(ir::Module& m) {
  const ir::Function& f = m.Get(m.entry);
  const bool scalar = f.results.size() == 1 && f.results[0].IsScalar();
  StatusOr<Staged> staged = Derive(m, scalar ? Transform::kValueAndGrad : Transform::kVjp,
                                   std::vector<bool>(f.params().size(), true), {});
  if (!staged.ok()) return staged.status();
  m = std::move(staged->final);
  return {};
}

TEST_CASE("pipeline: normal form of gradients") {
  testing::RunDerivativeFiles("normal_form", Gradient);
}

}  // namespace
}  // namespace pullback::pipeline
