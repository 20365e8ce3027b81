// Fewer kernels for a nest: each result has a kernel that its threads can make it by, and a body is computed by
// each of them anew. Here kernels that compute the same become one.
#pragma once

#include <functional>

#include "core/loops/offload.h"
#include "core/loops/offload_work.h"

namespace pullback::loops {

// Where every point of the segments stores to elements of its own (kGrid over the loops of kOrdered, and more), the
// thread that makes the terms stores them too.
void ShareWithOrdered(OffloadNest* nest);

// Results that are spread over fewer loops than the nest has (the gradient of a row that was broadcast), and that
// need what a kernel over other loops computes, more than filing a term costs: `file` makes them terms (kOrdered),
// if it can, and says so.
void FileCostly(const NestWork& work, const std::function<bool(Reg array)>& file,
                OffloadNest* nest);

// What is spread over more loops than another kernel is stored by that one's threads, whose loops come by its elements
// in the order of the nest, where it computes half of it anyway.
void StoreAlong(const NestWork& work, OffloadNest* nest);

}  // namespace pullback::loops
