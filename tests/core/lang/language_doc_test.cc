// The examples of docs/language.md are programs.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/lang/lang.h"

namespace pullback::lang {
namespace {

std::string ReadReference() {
  std::filesystem::path root = std::filesystem::path(__FILE__).parent_path() / "../../..";
  std::ifstream in(root / "docs" / "language.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The code blocks marked ```pull.
std::vector<std::string> Examples(const std::string& document) {
  std::vector<std::string> examples;
  std::istringstream lines(document);
  std::string line;
  bool inside = false;
  while (std::getline(lines, line)) {
    if (line == "```pull") {
      inside = true;
      examples.emplace_back();
    } else if (line.starts_with("```")) {
      inside = false;
    } else if (inside) {
      examples.back() += line + "\n";
    }
  }
  return examples;
}

TEST_CASE("language.md: every example parses, checks and formats") {
  std::vector<std::string> examples = Examples(ReadReference());
  REQUIRE(examples.size() > 8);
  for (const std::string& text : examples) {
    INFO(text);
    StatusOr<Program> p = Parse(text);
    INFO(p.status().ToString());
    REQUIRE(p.ok());
    CHECK(Parse(Format(*p)).ok());
    Status status = Check(*p);
    INFO(status.ToString());
    CHECK(status.ok());
  }
}

TEST_CASE("language.md: every keyword and built-in is named") {
  std::string document = ReadReference();
  for (const char* word : {"`f64(x)`", "column(z)", "hypot", "SOURCE_TOO_LARGE",
                           "NESTING_TOO_DEEP", "TYPE_TOO_LARGE", "CONSTANT_TOO_LARGE",
                           "PROGRAM_TOO_LARGE", "jacobian", "relations"}) {
    INFO(word);
    CHECK(document.find(word) != std::string::npos);
  }
}

}  // namespace
}  // namespace pullback::lang
