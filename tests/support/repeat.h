// A text again and again, for programs that are long or deep.
#pragma once

#include <string>

namespace pullback::testing {

inline std::string Repeat(const std::string& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

}  // namespace pullback::testing
