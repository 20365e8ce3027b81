// docs/dftilde.md lists the rules that are no patterns, with their laws, as the table has them.
#include <catch2/catch.hpp>

#include "core/opt/rules.h"
#include "tests/support/paths.h"

namespace pullback::opt {
namespace {

TEST_CASE("docs/dftilde.md: every rule that passes apply, or nobody, and its law") {
  const std::string text = testing::ReadSourceFile("docs/dftilde.md");
  size_t patterns = 0;
  for (const Rule& rule : Rules()) {
    patterns += rule.IsPattern();
    if (rule.IsPattern()) continue;
    const bool never = rule.by == Rule::AppliedBy::kNobody;
    const std::string by =
        never ? std::string("never: ") + rule.note : "`" + std::string(rule.note) + "`";
    const std::string row = std::string("| ") + FamilyName(rule.family) + " | `" + rule.name +
                            "` | `" + rule.left + "` → `" + rule.right + "` | " + by + " |";
    INFO(row);
    CHECK(text.find(row) != std::string::npos);
    if (!never) CHECK_FALSE(testing::ReadSourceFile(rule.note).empty());
  }
  CHECK(text.find("the " + std::to_string(patterns) + " rows of") != std::string::npos);
}

}  // namespace
}  // namespace pullback::opt
