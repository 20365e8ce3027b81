// What the two modes make of small programs: tests/filetests/{build_gradient,jvp}/*.ir. The output is
// cleaned up, as the pipeline does after it, so that it can be read.
#include <catch2/catch.hpp>

#include "core/ad/adjoint.h"
#include "core/ad/tangent.h"
#include "core/opt/simplify.h"
#include "tests/support/pass_files.h"

namespace pullback::ad {
namespace {

Status Finish(ir::Module& m, const StatusOr<uint32_t>& derived) {
  if (!derived.ok()) return derived.status();
  m.entry = *derived;
  return opt::Simplify(m);
}

std::vector<bool> EveryParameter(const ir::Module& m) {
  return std::vector<bool>(m.Get(m.entry).params().size(), true);
}

// Seeds are parameters unless the result is one float scalar.
Status Gradient(ir::Module& m) {
  const std::vector<ir::Type>& results = m.Get(m.entry).results;
  const bool scalar = results.size() == 1 && results[0].IsScalar();
  return Finish(m,
                BuildGradient(m, m.entry, EveryParameter(m), scalar ? Seed::kOne : Seed::kParams));
}

Status Jvp(ir::Module& m) { return Finish(m, Tangents(m).FilledJvp(m.entry, EveryParameter(m))); }

TEST_CASE("ad: BuildGradient") { testing::RunDerivativeFiles("build_gradient", Gradient); }

TEST_CASE("ad: Jvp") { testing::RunDerivativeFiles("jvp", Jvp); }

}  // namespace
}  // namespace pullback::ad
