// Loops that run strip by strip share one count of turns; each turn of a loop takes one of these, or several where others access
// that many rows for each of its own:
//
//   for %i in 0..%n { … %z[%i] … }                            turn i at i
//   for %k in 0..%m { … %z[2 * %k] … %z[2 * %k + 2] … }       turn k at 2 * k + 2
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/loops/effects.h"

namespace pullback::loops {

// Turn t is run as turn rate * t + delay.
struct Pace {
  int64_t rate = 1;
  Reach delay{};
  bool operator==(const Pace&) const = default;
};
// At `first`, and that at `then`.
Pace Composed(const Pace& first, const Pace& then);
// Of a loop that runs so: accesses are by steps of 1 now, by fewer where a turn takes several rows still, and any where a row is no
// whole number of turns, nor a turn of rows.
Effects Paced(Effects loop, const Pace& pace);

// Of each loop, the rate at which a row that several access, and one writes, takes as many turns in all of them. nullopt: there is
// none, or none that is small enough.
inline constexpr int64_t kMostRate = 64;
std::optional<std::vector<int64_t>> RatesOf(const std::vector<const Effects*>& loops);

}  // namespace pullback::loops
