#include "core/pipeline/pass.h"

#include <catch2/catch.hpp>

#include "core/base/work.h"
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

Status MakeMuch(ir::Module& m, int values) {
  ir::Function& f = m.Get(m.entry);
  for (int k = 0; k < values; ++k) f.NewValue(ir::Type::F64());
  return {};
}

TEST_CASE("passes: none makes much more than a module may have") {
  ir::Module m = testing::ParseIr(kText);
  const Observer none;
  Options options;
  options.max_insts = 100;
  PassRunner passes(nullptr, none, options);
  CHECK(passes.Run("some", m, [](ir::Module& x) { return MakeMuch(x, 200); }).ok());
  const Status s = passes.Run("much", m, [](ir::Module& x) { return MakeMuch(x, 2000); });
  CHECK(s.code() == Code::kInvalidArgument);
  CHECK(s.reason() == "PROGRAM_TOO_LARGE");
}

TEST_CASE("passes: end inside and between when nobody waits") {
  ir::Module m = testing::ParseIr(kText);
  const Observer none;
  PassRunner passes(nullptr, none);
  const Work work([] { return Status(Code::kCancelled, "CANCELLED", "nobody waits"); });
  bool came_back = false;
  const Status inside = passes.Run("long", m, [&](ir::Module& x) {
    const Status made = MakeMuch(x, 100000);
    came_back = true;
    return made;
  });
  CHECK(inside.reason() == "CANCELLED");
  CHECK_FALSE(came_back);
  CHECK(passes.Run("short", m, [](ir::Module&) { return Status(); }).reason() == "CANCELLED");
}

// Each derivative of a derivative is some three times as long as what it is of.
TEST_CASE("passes: a tower of derivatives is refused before it is built") {
  std::string text = "fn f(x: f64) -> f64 {\n  let a0 = |t: f64| sin(t) * exp(t) / (1.0 + t * t)\n";
  for (int k = 1; k <= 60; ++k) {
    text += "  let a" + std::to_string(k) + " = grad(a" + std::to_string(k - 1) + ")\n";
  }
  const ir::Module ssa = testing::LowerText(text + "  return a60(x)\n}\n", "f");
  Options options;
  options.max_insts = 20000;
  const auto staged = Derive(ssa, Transform::kValue, {true}, options);
  REQUIRE_FALSE(staged.ok());
  CHECK(staged.status().reason() == "PROGRAM_TOO_LARGE");
}

}  // namespace
}  // namespace pullback::pipeline
