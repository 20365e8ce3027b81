// What the pipeline cannot do with boxes yet it says; it never drops it.
#include <catch2/catch.hpp>

#include "core/ir/parser.h"
#include "core/pipeline/pipeline.h"

namespace pullback::pipeline {
namespace {

StatusOr<Staged> DeriveText(const std::string& text, Transform transform) {
  const StatusOr<ir::Module> m = ir::ParseModule(text);
  REQUIRE(m.ok());
  return Derive(*m, transform, {true}, {});
}

TEST_CASE("boxes: not yet") {
  const std::string boxes =
      "record R { x: f64 }\nfn @f(%x: f64) -> (f64) {\nb0: %b = box_new %x : box<R>\n"
      "  box_set %b, 2.0\n  %y = box_get %b\n  ret %y }";
  CHECK(DeriveText(boxes, Transform::kValue).status().code() == Code::kUnimplemented);
}

}  // namespace
}  // namespace pullback::pipeline
