// The examples of docs/ir.md parse, verify, and print to what parses back; its list of ops is whole.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "core/ir/names.h"
#include "core/ir/parser.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "tests/core/ir/filetest.h"

namespace pullback::ir {
namespace {

std::string ReadPage() {
  std::ifstream in(filetest::SourcePath("docs/ir.md"));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Examples(const std::string& page) {
  const std::string open = "```ir\n", close = "```";
  std::vector<std::string> examples;
  for (size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    examples.push_back(page.substr(at, page.find(close, at) - at));
  }
  return examples;
}

TEST_CASE("docs/ir.md: examples") {
  const std::vector<std::string> examples = Examples(ReadPage());
  CHECK(examples.size() >= 4);
  for (const std::string& text : examples) {
    const StatusOr<Module> module = ParseModule(text);
    INFO(text << module.status().ToString());
    REQUIRE(module.ok());
    const Status valid = Verify(*module);
    INFO(valid.ToString());
    CHECK(valid.ok());
    const std::string printed = Print(*module);
    const StatusOr<Module> again = ParseModule(printed);
    REQUIRE(again.ok());
    CHECK(Print(*again) == printed);
  }
}

TEST_CASE("docs/ir.md: every op is named") {
  std::string page = ReadPage();
  for (char& c : page) {
    if (!IsNameChar(c)) c = ' ';
  }
  for (int k = 0; k < kOpCount; ++k) {
    const std::string mnemonic = Info(static_cast<Op>(k)).mnemonic;
    INFO(mnemonic);
    CHECK(page.find(" " + mnemonic + " ") != std::string::npos);
  }
}

}  // namespace
}  // namespace pullback::ir
