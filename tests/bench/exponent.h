// How a measured quantity grows.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace pullback::bench {

// e of y ~ n^e: the slope of log y over log n by least squares.
inline double Exponent(const std::vector<double>& n, const std::vector<double>& y) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t k = 0; k < n.size(); ++k) {
    const double a = std::log(n[k]), b = std::log(std::max(y[k], 1e-12));
    sx += a, sy += b, sxx += a * a, sxy += a * b;
  }
  const auto m = static_cast<double>(n.size());
  return (m * sxy - sx * sy) / (m * sxx - sx * sx);
}

}  // namespace pullback::bench
