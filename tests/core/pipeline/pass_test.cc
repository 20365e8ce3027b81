#include "core/pipeline/pass.h"

#include <catch2/catch.hpp>

#include "core/ir/fingerprint.h"
#include "tests/support/derivatives.h"

namespace pullback::pipeline {
namespace {

constexpr char kText[] = R"(entry @f
fn @f(%x: f64) -> f64 {
b0:
  ret add(%x, 0.0)
})";

// What a pass does not change is not verified again; so nothing may look unchanged that is not.
TEST_CASE("passes: what one breaks is found, whatever those before it left alone") {
  ir::Module m = testing::ParseIr(kText);
  const Observer none;
  PassRunner passes(nullptr, none);
  const auto nothing = [](ir::Module&) { return Status(); };
  REQUIRE(passes.Run("first", m, nothing).ok());
  REQUIRE(passes.Run("second", m, nothing).ok());
  const auto breaks = [](ir::Module& x) {
    x.Get(x.entry).blocks[0].term.results.clear();
    return Status();
  };
  const Status s = passes.Run("third", m, breaks);
  CHECK(s.code() == Code::kInternal);
  CHECK(s.message().find("after pass 'third'") != std::string::npos);
  CHECK(passes.Run("fourth", m, nothing).code() == Code::kInternal);
}

TEST_CASE("passes: every function is simplified, once") {
  ir::Module m = testing::ParseIr(kText);
  const Observer none;
  PassRunner passes(nullptr, none);
  const uint64_t before = ir::Fingerprint(m.Get(m.entry));
  REQUIRE(passes.Simplify(m).ok());
  const uint64_t after = ir::Fingerprint(m.Get(m.entry));
  CHECK(passes.rules().settled->contains(after));
  CHECK(passes.rules().settled->contains(before) == (before == after));
}

}  // namespace
}  // namespace pullback::pipeline
