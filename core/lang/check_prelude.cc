// The prelude's text is cut into its functions once per process; a program's Check parses the few
// functions that it uses.
#include <map>
#include <string>

#include "core/lang/check.h"

namespace pullback::lang {

extern const char* const kPreludeText;

namespace {

struct Index {
  std::map<std::string, std::string> sources;  // by function name
  std::vector<std::string_view> names;
};

// A function starts at each line that starts with "fn ".
Index CutPrelude(const std::string& text) {
  constexpr std::string_view kStart = "\nfn ";
  Index index;
  size_t begin = text.find(kStart);
  while (begin != std::string::npos) {
    size_t end = text.find(kStart, begin + 1);
    std::string source = text.substr(begin + 1, end - begin - 1);
    constexpr size_t kName = kStart.size() - 1;
    index.sources.emplace(source.substr(kName, source.find_first_of("(<") - kName), source);
    begin = end;
  }
  for (const auto& [name, source] : index.sources) index.names.push_back(name);
  return index;
}

const Index& PreludeIndex() {
  static const Index* const index = new Index(CutPrelude("\n" + std::string(kPreludeText)));
  return *index;
}

}  // namespace

const std::vector<std::string_view>& PreludeNames() { return PreludeIndex().names; }

std::unique_ptr<Function> ParsePreludeFunction(const std::string& name) {
  std::string source = BroadcastSource(name);
  if (auto it = PreludeIndex().sources.find(name); it != PreludeIndex().sources.end()) {
    source = it->second;
  }
  if (source.empty()) return nullptr;
  StatusOr<Program> parsed = Parse(source);
  PB_CHECK(parsed.ok() && parsed->functions.size() == 1);
  std::unique_ptr<Function> function = std::move(parsed->functions[0]);
  function->from_prelude = true;
  return function;
}

}  // namespace pullback::lang
