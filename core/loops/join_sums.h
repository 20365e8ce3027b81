// What is made to be added to an array that is there is added where it is made:
//
//   %b = alloc f64 [%n, %m]                       for %i … for %j … { %a[%i, %j] = %a[%i, %j] + %t }
//   for %i … for %j … { %b[%i, %j] = %t }
//   for %o in 0..%n * %m { %a[%o] = %a[%o] + %b[%o] }
//   release %b
//
// and likewise where it is %a that is made last, to which %b is added. The same additions, so no bit changes. Only sums
// over all of two arrays that the block makes, of the same extents.
#pragma once

#include "core/loops/loops.h"

namespace pullback::loops {

// Of arrays of which one block stores each element once, and adds them up.
void JoinSums(Function& f);

}  // namespace pullback::loops
