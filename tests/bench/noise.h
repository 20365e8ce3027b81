// Numbers that look random and are the same in every run.
#pragma once

#include <cstdint>
#include <vector>

namespace pullback::bench {

// n numbers in [lo, hi), by xorshift.
inline std::vector<double> Noise(int64_t n, double lo, double hi) {
  std::vector<double> v(static_cast<size_t>(n));
  uint64_t state = 88172645463325252u;
  for (double& x : v) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    x = lo + (hi - lo) * static_cast<double>(state >> 11) * 0x1p-53;
  }
  return v;
}

}  // namespace pullback::bench
