// The examples of docs/language.md are programs.
#include <catch2/catch.hpp>
#include <cctype>
#include <sstream>

#include "core/lang/builtins.h"
#include "core/lang/lang.h"
#include "core/lang/lexer.h"
#include "tests/support/paths.h"

namespace pullback::lang {
namespace {

std::string ReadReference() { return testing::ReadSourceFile("docs/language.md"); }

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

// Whether `word` stands somewhere as a word of its own.
bool Names(const std::string& document, const std::string& word) {
  auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = document.find(word); at != std::string::npos; at = document.find(word, at + 1)) {
    size_t end = at + word.size();
    bool starts = at == 0 || !part(document[at - 1]);
    if (starts && (end == document.size() || !part(document[end]))) return true;
  }
  return false;
}

TEST_CASE("language.md: names every keyword, built-in and reason") {
  const std::string document = ReadReference();
  std::vector<std::string> words = {"SOURCE_TOO_LARGE", "NESTING_TOO_DEEP", "TYPE_TOO_LARGE",
                                    "CONSTANT_TOO_LARGE", "PROGRAM_TOO_LARGE"};
#define PB_KEYWORD(e, s) words.push_back(s);
  PB_KEYWORDS(PB_KEYWORD)
#define PB_BUILTIN(e, n, k) words.push_back(n);
  PB_SCALAR_BUILTINS(PB_BUILTIN)
  PB_OTHER_BUILTINS(PB_BUILTIN) for (const std::string& word : words) {
    INFO(word);
    CHECK(Names(document, word));
  }
}

TEST_CASE("language.md: names every function of the prelude") {
  const std::string document = ReadReference();
  StatusOr<Program> prelude = Parse(testing::ReadSourceFile("core/lang/prelude.pull"));
  INFO(prelude.status().ToString());
  REQUIRE(prelude.ok());
  for (const auto& f : prelude->functions) {
    INFO(f->name);
    CHECK(Names(document, f->name));
  }
  CHECK(Parse(Format(*prelude)).ok());
}

}  // namespace
}  // namespace pullback::lang
