#include "core/lang/entry.h"

#include <algorithm>

namespace pullback::lang {
namespace {

// The names of the user's functions, as many as a message should carry.
std::string ListFunctions(const Program& program) {
  constexpr size_t kShown = 20;
  constexpr size_t kNameLength = 80;
  std::string s;
  size_t n = std::min(program.user_functions, kShown);
  for (size_t i = 0; i < n; ++i) {
    s += (i ? ", " : "") + program.functions[i]->name.substr(0, kNameLength);
  }
  if (n < program.user_functions) s += ", …";
  return s;
}

}  // namespace

StatusOr<uint32_t> FindEntry(const Program& program, const std::string& entry) {
  for (size_t i = 0; i < program.user_functions; ++i) {
    if (program.functions[i]->name != entry) continue;
    if (!program.functions[i]->is_template) return static_cast<uint32_t>(i);
    return Status(Code::kNotFound, "ENTRY_NOT_FOUND",
                  "'" + entry +
                      "' takes or gives functions, or has type parameters: it cannot be "
                      "called from outside");
  }
  return Status(Code::kNotFound, "ENTRY_NOT_FOUND",
                "the program has no function '" + entry + "'; it has: " + ListFunctions(program));
}

}  // namespace pullback::lang
