// The programs of docs/dftilde.md: what the paper writes and what is written here give the same, and so do
// their derivatives.
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "tests/support/derivatives.h"
#include "tests/support/paths.h"

namespace pullback::testing {
namespace {

// All code blocks marked ```pull, one after the other: one program.
std::string Examples() {
  std::istringstream document(ReadSourceFile("docs/dftilde.md"));
  std::string line, text;
  bool inside = false;
  while (std::getline(document, line)) {
    if (line.starts_with("```")) {
      inside = line == "```pull";
    } else if (inside) {
      text += line + "\n";
    }
  }
  return text;
}

std::set<std::string> NamesAfter(const std::string& text, const std::string& prefix) {
  std::set<std::string> names;
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
    const size_t begin = at + prefix.size();
    names.insert(text.substr(begin, text.find('(', begin) - begin));
  }
  return names;
}

const std::vector<Tensor> kArgs = {Mat(3, 3, {0.5, -1.2, 0.7, 1.9, 0.1, 2.2, -0.4, 0.9, 1.3}),
                                   Vec({0.3, 1.1, -0.7})};

std::vector<double> ValueAndGradient(const std::string& text, const std::string& entry) {
  const ir::Module m = LowerText(text, entry);
  std::vector<double> all =
      Doubles(RunOk(Derived(m.Clone(), pipeline::Transform::kValue), kArgs)[0]);
  for (const Tensor& gradient : Gradients(m, kArgs)) {
    for (double v : Doubles(gradient)) all.push_back(v);
  }
  return all;
}

TEST_CASE("dF~: the programs of docs/dftilde.md, and Table 1") {
  const std::string text = Examples();
  const std::set<std::string> names = NamesAfter(text, "fn paper_");
  REQUIRE(names.size() >= 14);
  CHECK(names == NamesAfter(text, "fn here_"));
  for (const std::string& name : names) {
    INFO(name);
    const std::vector<double> paper = ValueAndGradient(text, "paper_" + name);
    const std::vector<double> here = ValueAndGradient(text, "here_" + name);
    REQUIRE(paper.size() == 1 + 9 + 3);
    for (size_t i = 0; i < paper.size(); ++i) CHECK(paper[i] == Approx(here[i]).margin(1e-14));
  }
}

TEST_CASE("dF~: the gradient of u M v' by M is the outer product of u and v") {
  const std::vector<double> all = ValueAndGradient(Examples(), "paper_form");
  const std::vector<double> v = {0.3, 1.1, -0.7};
  for (size_t i = 0; i < 9; ++i) CHECK(all[1 + i] == Approx(2 * v[i / 3] * v[i % 3]));
}

}  // namespace
}  // namespace pullback::testing
