#include "client/load/arrivals.h"

#include <cmath>

namespace pullback::load {

Arrivals::Arrivals(ArrivalKind kind, double rate, int index, int shares, uint64_t seed)
    : kind_(kind),
      gap_(1e9 * shares / rate),
      at_(0),
      first_(1e9 * index / rate),
      random_(seed * 1000003 + static_cast<uint64_t>(index)) {}

int64_t Arrivals::Next() {
  if (kind_ == ArrivalKind::kConstant) {
    // By multiplication: a sum of gaps would drift.
    return static_cast<int64_t>(first_ + gap_ * static_cast<double>(done_++));
  }
  // In (0, 1], so that the logarithm is finite.
  const double u = (static_cast<double>(random_() >> 11) + 1) * 0x1p-53;
  at_ -= gap_ * std::log(u);
  return static_cast<int64_t>(at_);
}

}  // namespace pullback::load
