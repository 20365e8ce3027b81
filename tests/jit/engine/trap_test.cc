#include "jit/trap.h"

#include <catch2/catch.hpp>

namespace pullback::jit {
namespace {

const std::string kText = "fn f(x: f64) -> f64 {\n  return g(x)\n}\n";

const std::vector<lang::Place>& ThePlaces() {
  static const std::vector<lang::Place> places = {
      {}, {{31, 35, 2, 10}, "f"}, {{0, 0, 0, 0}, "softmax"}};
  return places;
}

TEST_CASE("An ordinal at the end of a pass's message becomes a diagnostic") {
  const Status s = PlaceStatus({Code::kUnimplemented, "UNIMPLEMENTED", "no derivative of that !1"},
                               {ThePlaces(), kText});
  CHECK(s.code() == Code::kUnimplemented);
  CHECK(s.message() == "no derivative of that");
  REQUIRE(s.diagnostics().size() == 1);
  CHECK(FormatDiagnostic(s.diagnostics()[0]) ==
        "2:10: error: no derivative of that\n  return g(x)\n         ^^^^");
}

TEST_CASE("A place in the prelude names the function, since there is no text to show") {
  const Status s = TrapStatus({ir::TrapKind::kDivideByZero, 2, 0, 0}, {ThePlaces(), kText});
  REQUIRE(s.diagnostics().size() == 1);
  CHECK(s.diagnostics()[0].message == "integer division by zero (in 'softmax' of the prelude)");
  CHECK(s.diagnostics()[0].excerpt.empty());
}

TEST_CASE("A message without an ordinal stays as it is") {
  for (const char* message : {"", "!", " !", "what !", "no !1 more", "no !-1", "no !99999999999"}) {
    const Status s =
        PlaceStatus({Code::kUnimplemented, "UNIMPLEMENTED", message}, {ThePlaces(), kText});
    CHECK(s.message() == message);
    CHECK(s.diagnostics().empty());
  }
  const Status none =
      PlaceStatus({Code::kUnimplemented, "UNIMPLEMENTED", "no place !0"}, {ThePlaces(), kText});
  CHECK(none.message() == "no place");
  CHECK(none.diagnostics().empty());
}

TEST_CASE("Bytes that cannot be counted are not printed") {
  const Status s = TrapStatus({ir::TrapKind::kMemory, 0, INT64_MAX, 100}, {ThePlaces(), kText});
  CHECK(s.message() == "asked for more bytes than can be counted, over the memory budget of 100");
}

}  // namespace
}  // namespace pullback::jit
