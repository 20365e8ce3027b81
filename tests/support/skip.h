// Tests that cannot run here.
#pragma once

#include <string>

namespace pullback::testing {

// What a test binary ends with when every case that it ran was skipped.
inline constexpr int kSkippedExitCode = 77;

// Says so; the case that calls it returns.
void Skip(const std::string& why);

}  // namespace pullback::testing
