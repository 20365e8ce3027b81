// An array that is made elementwise of one that ends there takes its place in memory:
//
//   %y = alloc f64 [%n, %m]                       for %i … for %j … { %z[%i, %j] = (%z[%i, %j] - %m[%j]) / %s[%j] }
//   for %i … for %j … { %y[%i, %j] = (%z[%i, %j] - %m[%j]) / %s[%j] }
//   release %z
//
// Each element is read for the last time before its own turn stores it; reads of other elements of the same row may come
// before any of the row is stored.
#pragma once

#include "core/loops/loops.h"

namespace pullback::loops {

// Of arrays that one block makes and gives up.
void TakePlaces(Function& f);

}  // namespace pullback::loops
