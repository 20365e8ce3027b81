#include "tests/core/ir/filetest.h"

namespace pullback::ir {
namespace {

// Turns every add into a mul: enough of a pass to test the testing of passes.
Status MultiplyInstead(Module& m) {
  for (auto& f : m.functions) {
    for (Block& b : f->blocks) {
      for (Inst& i : b.insts) {
        if (i.op == Op::Sub) return Status(Code::kUnimplemented, "NO_SUB", "sub is not known");
        if (i.op == Op::Add) i.op = Op::Mul;
      }
    }
  }
  return Status();
}

TEST_CASE("filetest: a folder of files") {
  filetest::RunFolder("tests/core/ir/filetests", MultiplyInstead);
}

TEST_CASE("filetest: headings, cases and expectations are told apart") {
  std::istringstream in(
      "# one\n;; before\na\n;; after\nb\n\n# two\n# more\n;; before\nc\n;; after\nd");
  const std::vector<filetest::Case> cases = filetest::ReadCases(in);
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].heading == "# one\n");
  CHECK(cases[0].after == "b\n");
  CHECK(filetest::Trimmed(cases[1].heading) == "# two\n# more");
  CHECK(cases[1].before == "c\n");
  CHECK(cases[1].after == "d\n");
}

TEST_CASE("filetest: what is wrong with the input or output is said") {
  const auto broken = [](Module& m) {
    m.Get(0).blocks[0].term = Terminator();
    return Status();
  };
  CHECK(filetest::RunPass("fn", broken).find("IR_SYNTAX") != std::string::npos);
  CHECK(filetest::RunPass("fn @f() -> () { b0: }", broken).find("input: ") == 0);
  CHECK(filetest::RunPass("fn @f() -> () { b0: ret }", broken).find("output: ") == 0);
}

}  // namespace
}  // namespace pullback::ir
