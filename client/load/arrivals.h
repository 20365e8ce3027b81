// When the requests of an open loop are due: at even distances, or as a Poisson process, which is how
// requests of many independent users come. Deterministic by the seed.
#pragma once

#include <cstdint>
#include <random>

namespace pullback::load {

enum class ArrivalKind : uint8_t { kConstant, kPoisson };

class Arrivals {
 public:
  // `rate` a second, of which this is share `index` of `shares`: together the shares are an arrival
  // process of the whole rate (every shares-th arrival; or, as Poisson processes add up, one of rate / shares).
  Arrivals(ArrivalKind kind, double rate, int index, int shares, uint64_t seed);

  // Of the next arrival, in nanoseconds from the beginning; never before the one before.
  int64_t Next();

 private:
  const ArrivalKind kind_;
  const double gap_;  // nanoseconds between two of this share's, in the mean
  double at_;
  int64_t done_ = 0;
  const double first_;
  std::mt19937_64 random_;
};

}  // namespace pullback::load
