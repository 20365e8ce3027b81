// Runs a pass over a file of IR text and compares with what the file says it yields.
//
//     # What the case shows; kept when expectations are rewritten.
//     ;; before
//     fn @f(%x: f64) -> (f64) { ... }
//     ;; after
//     entry @f
//     ...
//
// A file may hold several before/after pairs. Each input is verified before the pass, and the output
// after it. PULLBACK_BLESS=1 rewrites the expectations instead of comparing.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/ir/parser.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "tests/support/paths.h"

namespace pullback::ir::filetest {

using Pass = std::function<Status(Module&)>;

struct Case {
  std::string heading;  // what stands in front of `;; before`
  std::string before;
  std::string after;
};

using testing::SourcePath;

inline std::string Trimmed(const std::string& s) {
  const size_t begin = s.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return s.substr(begin, s.find_last_not_of(" \t\r\n") - begin + 1);
}

// Comments at the end of an expectation are the heading of the next case.
inline std::string TakeHeading(std::string& after) {
  const std::string text = "\n" + Trimmed(after);
  size_t begin = text.size();
  while (begin > 0) {
    const size_t line = text.rfind('\n', begin - 1);
    if (text[line + 1] != '#') break;
    begin = line;
  }
  after = Trimmed(text.substr(0, begin)) + "\n";
  return begin < text.size() ? text.substr(begin + 1) : "";
}

inline std::vector<Case> ReadCases(std::istream& in) {
  std::vector<Case> cases;
  Case current;
  std::string* section = &current.heading;
  for (std::string line; std::getline(in, line);) {
    const std::string mark = Trimmed(line);
    if (mark == ";; before") {
      if (section == &current.after) {
        const std::string heading = TakeHeading(current.after);
        cases.push_back(std::move(current));
        current = Case{heading, "", ""};
      }
      section = &current.before;
    } else if (mark == ";; after") {
      section = &current.after;
    } else {
      *section += line + "\n";
    }
  }
  if (section != &current.heading) cases.push_back(std::move(current));
  return cases;
}

// The pass over one text, printed; or the status that it ended with, as text.
inline std::string RunPass(const std::string& text, const Pass& pass) {
  auto module = ParseModule(text);
  if (!module.ok()) return module.status().ToString() + "\n";
  const Status input = Verify(*module);
  if (!input.ok()) return "input: " + input.ToString() + "\n";
  const Status status = pass(*module);
  if (!status.ok()) return status.ToString() + "\n";
  const Status output = Verify(*module);
  if (!output.ok()) return "output: " + output.ToString() + "\n" + Print(*module);
  return Print(*module);
}

using Transform = std::function<std::string(const std::string&)>;

// `path` is relative to the root of the repository.
inline void RunFile(const std::string& path, const Transform& transform) {
  const std::string file = SourcePath(path);
  std::ifstream in(file);
  INFO(file);
  REQUIRE(in);
  std::vector<Case> cases = ReadCases(in);
  REQUIRE(!cases.empty());
  const bool bless = std::getenv("PULLBACK_BLESS") != nullptr;
  std::string blessed;
  for (const Case& c : cases) {
    const std::string got = transform(c.before);
    INFO(c.heading + c.before);
    if (!bless) CHECK(Trimmed(got) == Trimmed(c.after));
    if (!blessed.empty()) blessed += "\n";
    if (!Trimmed(c.heading).empty()) blessed += Trimmed(c.heading) + "\n";
    blessed += ";; before\n" + Trimmed(c.before) + "\n;; after\n" + Trimmed(got) + "\n";
  }
  if (bless) std::ofstream(file) << blessed;
}

// Every file of a folder with this extension.
inline void RunFolder(const std::string& folder, const std::string& extension,
                      const Transform& transform) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath(folder))) {
    if (entry.path().extension() == extension) files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  REQUIRE(!files.empty());
  for (const std::string& name : files) {
    DYNAMIC_SECTION(name) { RunFile(folder + "/" + name, transform); }
  }
}
inline void RunFolder(const std::string& folder, const Pass& pass) {
  RunFolder(folder, ".ir", [&](const std::string& text) { return RunPass(text, pass); });
}

}  // namespace pullback::ir::filetest
